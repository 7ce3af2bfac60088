import { randomUUID } from 'node:crypto'
import { meaningsOf } from '../../access/meanings.ts'
import { tokenSecrets } from '../../auth/client-token.ts'
import { systemClock } from '../../base/clock.ts'
import { refuse } from '../../base/errors.ts'
import type { Services } from '../../cli/services.ts'
import { type Context, enveloper } from '../../commands/envelope.ts'
import { executor } from '../../commands/execute.ts'
import { noFlag } from '../../commands/flag/state.ts'
import { namespace as namespaceDecider } from '../../commands/namespace.ts'
import { reservations } from '../../commands/reservations.ts'
import { accessPolicy } from '../../config/checks/access-rules.ts'
import { namesOf } from '../../contract/identifiers.ts'
import { newToken } from '../../contract/token.ts'
import type { Stored } from '../../events/log.ts'
import { sealer } from '../../events/personal.ts'
import { issueToken } from '../../http/auth/issue-token.ts'
import { inFuture, namespacesAsked, staticToken } from '../../http/auth/requested-access.ts'
import { presentAuthentication } from '../../http/present/authentication.ts'
import { projections } from '../../projections/all.ts'
import { byStream, foldRow, keyOf } from '../../projections/engine/fold-rows.ts'
import { rowOf } from '../../projections/engine/memory.ts'
import { rebuild } from '../../projections/engine/rebuild.ts'
import type { AnyProjection } from '../../projections/projection.ts'
import { tokens } from '../../projections/tokens.ts'
import { formatBeside } from '../cluster-member.ts'
import { readModelsOf } from '../history/read-models.ts'
import { operator } from '../stores/operator.ts'
import { withHistory, withSettled } from './opened-stores.ts'
import { modelStatus } from './projection-status.ts'

/** Context of an operator's command. */
const asOperator = (reason: string | undefined): Context => ({
  actor: operator(),
  ...(reason === undefined ? {} : { reason }),
})

/**
 * Creates a static token directly in the stores, for operators without a valid token. An embedded service must be
 * stopped; servers may be in use. Reads and writes only the log; the read models are updated later.
 */
export const createTokenOffline: Services['createTokenOffline'] = (config, { reason, ...request }, say) =>
  withHistory(config, systemClock, say, async ({ log, keys, pepper, alone }) => {
    const { now } = systemClock
    const seal = sealer(keys)
    const names = namesOf(config.identifiers)
    const policy = accessPolicy(config)
    const asked = newToken(names, { ...policy, requireRole: false }).read(request)
    inFuture(asked, now)
    const { execute, foldOf } = executor(log, enveloper(seal, 'command-line', now), {
      clock: systemClock,
      format: await formatBeside({ log, alone }),
    })
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
 * the rows immediately, so that the next start does not read the deleted flag.
 */
export const deleteFlagOffline: Services['deleteFlagOffline'] = (config, { namespace, key, reason }, say) =>
  withSettled(config, systemClock, say, async ({ log, views, keys, alone }) => {
    const { now } = systemClock
    const { execute, foldOf } = executor(log, enveloper(sealer(keys), 'command-line', now), {
      clock: systemClock,
      format: await formatBeside({ log, alone }),
    })
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

/** Returns the checkpoint of each read model. */
export const projectionStatus: Services['projectionStatus'] = (config, say) => modelStatus(config, systemClock, say)

/** Rebuilds read models of the data directory. */
export const rebuildProjections: Services['rebuildProjections'] = (config, { names, progress, signal }, say) =>
  withSettled(config, systemClock, say, async ({ log, views, snapshots, pepper }) => {
    // The snapshot may contain data of the old read models.
    await snapshots.remove()
    const chosen = readModelsOf(pepper.key).filter(({ name }) => names.includes(name))
    const name = chosen.map((model) => model.name).join(', ')
    await rebuild({ clock: systemClock, log, views }, chosen, ({ done, position, head }) => {
      if (signal.aborted) throw signal.reason
      progress({ name, done, total: Math.round((done * Number(head)) / Number(position)) })
    })
  })
