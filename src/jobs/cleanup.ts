import { SYSTEM } from '../commands/envelope.ts'
import type { Execute } from '../commands/execute.ts'
import { token } from '../commands/token.ts'
import type { Stored } from '../events/log.ts'
import type { Method } from '../events/token.ts'
import { type TokenDoc, tokens } from '../projections/tokens.ts'
import type { Views } from '../projections/views.ts'
import type { Job } from './queue.ts'

const BATCH = 500

type CleanupOptions = {
  readonly method: Method
  /** In ms. */
  readonly interval: number
  readonly gracePeriod: number
  readonly execute: Execute
  readonly applied: (events: readonly Stored[]) => Promise<unknown>
  readonly views: Views
  /** Resolves once the views contain all events of the log; rejects after a timeout. */
  readonly complete: () => Promise<unknown>
  readonly now: () => Date
  /** Returns false if the clock has jumped since the last run. */
  readonly steady: () => boolean
  readonly onJump: () => void
  readonly onDeleted: (method: string) => void
}

/**
 * Appends TokenExpired to the records of one method that expired before the grace period (api.md §6.2). The run after a
 * clock jump does nothing. A clock jump during a run does not change its limit.
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
    // Checked once, right after `before` is computed, because the clock may jump while the job waits for the views.
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
        const { stored } = await execute(token, doc.id, 'CleanUpToken', { id: doc.id, before }, SYSTEM)
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
