import { randomUUID } from 'node:crypto'
import { meaningsOf } from '../../access/grants.ts'
import { tokenSecrets } from '../../auth/client-token.ts'
import { systemClock } from '../../base/clock.ts'
import { refuse } from '../../base/errors.ts'
import type { Say } from '../../base/progress.ts'
import type { Context } from '../../commands/envelope.ts'
import { noFlag } from '../../commands/flag/state.ts'
import { namespace as namespaceDecider } from '../../commands/namespace.ts'
import { reservations } from '../../commands/reservations.ts'
import { accessPolicy } from '../../config/checks/access-rules.ts'
import type { Config } from '../../config/load.ts'
import { namesOf } from '../../contract/identifiers.ts'
import { type IssuedToken, type NewToken, newToken } from '../../contract/token.ts'
import type { Stored } from '../../events/log.ts'
import { sealer } from '../../events/personal.ts'
import { issueToken } from '../../http/auth/issue-token.ts'
import { inFuture, namespacesAsked, staticToken } from '../../http/auth/requested-access.ts'
import { presentAuthentication } from '../../http/present/authentication.ts'
import { projections } from '../../projections/all.ts'
import { byStream, foldRow, keyOf } from '../../projections/engine/fold-rows.ts'
import { rowOf } from '../../projections/engine/memory.ts'
import type { AnyProjection } from '../../projections/projection.ts'
import { tokens } from '../../projections/tokens.ts'
import { operator } from '../stores/operator-command.ts'
import { operatorExecutor, withHistory, withSettled } from './opened-stores.ts'

/** A token that was just issued, with its client token. */
export type NewlyIssued = IssuedToken & { readonly clientToken: string }

/**
 * Request for a static token. `expiresAt` is RFC 3339; undefined means never. The creator of the token checks the rules
 * of api.md §5.4 A7.
 */
export type TokenRequest = Pick<NewToken, 'name'> & {
  readonly [field in keyof NewToken]?: NewToken[field] | undefined
} & { readonly reason?: string | undefined }

const asOperator = (reason: string | undefined): Context => ({
  actor: operator(),
  ...(reason === undefined ? {} : { reason }),
})

/**
 * Creates a static token directly in the stores, for operators without a valid token. An embedded service must be
 * stopped; servers may be in use. Reads and writes only the log; the read models are updated later.
 */
export const createTokenOffline = (
  config: Config,
  { reason, ...request }: TokenRequest,
  say: Say,
): Promise<NewlyIssued> =>
  withHistory(config, systemClock, say, async (history) => {
    const { log, keys, pepper } = history
    const { now } = systemClock
    const seal = sealer(keys)
    const names = namesOf(config.identifiers)
    const policy = accessPolicy(config)
    const asked = newToken(names, { ...policy, requireRole: false }).read(request)
    inFuture(asked, now)
    const { execute, foldOf } = await operatorExecutor(history, systemClock)
    for (const key of namespacesAsked(asked))
      if ((await foldOf(namespaceDecider, key)).state.incarnation === undefined)
        refuse('not_found', `namespace "${key}" not found`)
    const applied = async (stored: readonly Stored[]) =>
      rowOf([
        [tokens as unknown as AnyProjection, await foldRow({ log, clock: systemClock }, tokens, stored, undefined)],
      ])
    const issuer = { execute, applied, secrets: tokenSecrets(pepper), now }
    const { clientToken, doc } = await issueToken(
      issuer,
      staticToken(asked, meaningsOf(policy.roles)),
      asOperator(reason),
    )
    return { clientToken, authentication: await presentAuthentication(doc, names, seal, now()) }
  })

/**
 * Deletes a flag in the data directory. Reads only the streams of the flag, because all flags may exceed memory. Writes
 * the rows immediately, so that the next start does not read the deleted flag. Refuses with 404 if it does not exist.
 */
export const deleteFlagOffline = (
  config: Config,
  { namespace, key, reason }: { readonly namespace: string; readonly key: string; readonly reason?: string },
  say: Say,
): Promise<void> =>
  withSettled(config, systemClock, say, async (stores) => {
    const { log, views } = stores
    const { now } = systemClock
    const { execute, foldOf } = await operatorExecutor(stores, systemClock)
    const { state } = await foldOf(namespaceDecider, namespace)
    const { incarnation = refuse('not_found', `namespace "${namespace}" not found`) } = state
    const of = { namespace, key, incarnation }
    const { stored } = await reservations(execute, foldOf, randomUUID, now).deleteFlag(of, asOperator(reason))
    if (stored.length === 0) noFlag(of)
    for (const [stream, events] of byStream(stored)) {
      for (const projection of projections.filter(({ category }) => stream.startsWith(`${category}-`))) {
        if ((await views.checkpoint(projection)) === undefined) continue
        await views.put(projection, [
          await foldRow(
            { log, clock: systemClock },
            projection,
            events,
            await views.get(projection, keyOf(projection, stream)),
          ),
        ])
      }
    }
  })
