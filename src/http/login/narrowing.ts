import { type AccessPolicy, grantsFor, type RuledMethod } from '../../access/rules.ts'
import { type Narrowed, narrowed } from '../../access/within.ts'
import { rowNow } from '../../as-of/as-of.ts'
import { isRefusal } from '../../base/errors.ts'
import type { Execute } from '../../commands/execute.ts'
import { token } from '../../commands/token.ts'
import type { EventLog, Stored } from '../../events/log.ts'
import type { Sealer } from '../../events/personal.ts'
import { readable } from '../../projections/projection.ts'
import { type TokenDoc, tokens } from '../../projections/tokens.ts'
import type { Row } from '../../projections/views.ts'
import type { Narrow, Outcome } from '../services/auth.ts'
import { subjectOf } from './admission.ts'

/** Maximum number of attempts if another instance writes to the token's stream at the same time. */
const TRIES = 5

type NarrowingOptions = {
  readonly log: EventLog
  readonly sealer: Sealer
  readonly execute: Execute
  readonly applied: (events: readonly Stored[]) => Promise<unknown>
  readonly access: AccessPolicy
  /** Number of this access configuration. */
  readonly number: () => Promise<number>
}

const SYSTEM = { kind: 'system' } as const

/** Current grants of a token, as stored in events. */
const accessOf = ({ grants, roles = {} }: TokenDoc) => grants && { grants, roles }

/**
 * Applies the rules of this instance to logins and exchanges issued under an earlier access configuration, or without
 * one (api.md §3.8). Tokens issued under a later configuration stay unchanged. Concurrent calls for one token share the
 * outcome.
 */
export const narrowing = ({
  log,
  sealer,
  execute,
  applied,
  access,
  number: currentNumber,
}: NarrowingOptions): Narrow => {
  const running = new Map<string, Promise<Outcome>>()

  /**
   * Returns the remaining grants of a token; undefined if the token loses no grant. Access rules match no erased or
   * lost personal data.
   */
  const left = async (doc: TokenDoc & { readonly method: RuledMethod }) => {
    const opened = doc.profile === undefined ? undefined : await sealer.open(doc.profile)
    const personal = opened && 'text' in opened ? (JSON.parse(opened.text) as Record<string, string>) : {}
    const given = grantsFor(access, subjectOf(doc, personal))
    return narrowed(doc, 'holding' in given ? given.holding : { grants: [] })
  }

  const write = async ({ key: id, doc, changes }: Row<TokenDoc>, to: Narrowed, number: number): Promise<Outcome> => {
    const context = { actor: SYSTEM, ifMatch: [String(changes)] }
    const from = accessOf(doc!)
    const data = { id, ...(from && { from }), to, policy: number }
    const ends = to.grants.length === 0
    const { stored }: { readonly stored: readonly Stored[] } = ends
      ? await execute(token, id, 'RevokeToken', { id }, context)
      : await execute(token, id, 'NarrowGrants', data, context)
    await applied(stored)
    return ends ? 'ended' : 'narrowed'
  }

  const narrow = async (id: string): Promise<Outcome> => {
    const number = await currentNumber()
    for (let tries = 1; ; tries++) {
      const row = readable(await rowNow(log, tokens, id))
      const doc = row?.doc
      if (!doc || doc.deletedAt !== undefined) return 'ended'
      const { method, policy: of = -1 } = doc
      if (method === 'token') return 'kept'
      if (of >= number) return 'narrowed'
      const to = await left({ ...doc, method })
      if (to === undefined) return 'kept'
      try {
        return await write(row, to, number)
      } catch (error) {
        const moved = isRefusal(error, 'revision_moved') || isRefusal(error, 'not_found')
        if (!moved || tries === TRIES) throw error
      }
    }
  }

  return (id: string): Promise<Outcome> => {
    const outcome = running.get(id) ?? narrow(id).finally(() => running.delete(id))
    running.set(id, outcome)
    return outcome
  }
}
