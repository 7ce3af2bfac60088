import type { Execute } from '../commands/execute.ts'
import { token } from '../commands/token.ts'
import type { Stored } from '../events/log.ts'
import type { Method } from '../events/token.ts'
import { type TokenDoc, tokens } from '../projections/tokens.ts'
import type { Views } from '../projections/views.ts'
import type { Job } from './queue.ts'

const BATCH = 500

export type CleanupOptions = {
  readonly method: Method
  /** Milliseconds. */
  readonly interval: number
  readonly gracePeriod: number
  readonly execute: Execute
  readonly applied: (events: readonly Stored[]) => Promise<unknown>
  readonly views: Views
  /** Resolves once the views hold all that is in the log; rejects when that takes too long. */
  readonly complete: () => Promise<unknown>
  readonly now: () => Date
  /** False when the clock has jumped since the last run. */
  readonly steady: () => boolean
  readonly onJump: () => void
  readonly onDeleted: (method: string) => void
}

/**
 * Appends TokenExpired to the records of one method whose expiry lies further back than the grace period (api.md §6.2).
 * What is ended stays ended. The run after the clock jumped ends nothing, and a jump during a run changes nothing in it.
 */
export const cleanup = ({
  method,
  interval,
  gracePeriod,
  execute,
  applied,
  views,
  complete,
  now,
  steady,
  onJump,
  onDeleted,
}: CleanupOptions): Job => ({
  name: `cleanup-${method}`,
  every: interval,
  run: async (signal, tell) => {
    const before = new Date(now().getTime() - gracePeriod).toISOString()
    // Asked after `before` was taken and not again: who waits for the views may meet a clock that jumps meanwhile.
    if (!steady()) return onJump()
    await complete()
    let after: { value: string; key: string } | undefined
    let done = 0
    while (!signal.aborted) {
      const { rows } = await views.list<TokenDoc>(tokens, {
        where: { method: { equals: [method] }, deletedAt: { equals: [undefined] }, expiresAt: { below: before } },
        order: 'expiresAt',
        limit: BATCH,
        ...(after && { after }),
      })
      for (const { doc } of rows) {
        if (!doc || signal.aborted) break
        done++
        const { stored } = await execute(
          token,
          doc.id,
          'CleanUpToken',
          { id: doc.id, before },
          { actor: { kind: 'system' } },
        )
        if (stored.length === 0) continue
        await applied(stored)
        onDeleted(method)
      }
      tell({ done })
      const last = rows.at(-1)
      if (rows.length < BATCH || !last?.doc?.expiresAt) return
      after = { value: last.doc.expiresAt, key: last.key }
    }
  },
})
