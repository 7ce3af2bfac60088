import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Embedded, openEmbedded } from '../src/adapters/embedded/open.ts'
import { systemClock } from '../src/base/clock.ts'
import type { NewEvent } from '../src/events/log.ts'

/** A store in a new directory under the working directory (a real disk, unlike many a /tmp); `done` closes and removes it. */
export const newStore = async (): Promise<
  Embedded & { readonly directory: string; readonly done: () => Promise<void> }
> => {
  const directory = await mkdtemp(join(process.env['ROLLCALL_BENCH_DIR'] ?? process.cwd(), '.bench-'))
  const store = await openEmbedded(directory, {
    clock: systemClock,
    kek: new Uint8Array(32),
    onError: (_, error) => {
      throw error
    },
  })
  let closing: Promise<void> | undefined
  const close = () => (closing ??= store.close())
  const done = async () => {
    await close()
    await rm(directory, { recursive: true })
  }
  return { ...store, close, directory, done }
}

/** The issue of a token as it stands in the log: about 750 bytes. */
export const tokenIssued = (id: string = randomUUID()): NewEvent => ({
  id: randomUUID(),
  type: 'TokenIssued',
  time: new Date().toISOString(),
  data: JSON.stringify({
    attributes: { 'token.description': 'made by a benchmark', 'token.name': `bench ${id}` },
    digest: randomBytes(32).toString('base64url'),
    expiresAt: '2027-01-01T00:00:00.000Z',
    id,
    issuedAt: '2026-01-01T00:00:00.000Z',
    metadata: {},
    method: 'token',
    namespace: 'default',
  }),
  meta: JSON.stringify({
    actor: { id: '3f0c2a54-7f2b-4c51-9a3b-1f6a2f0d9c11', kind: 'token', method: 'token' },
    command: 'IssueToken',
    correlationId: '0b7a3a0e-58a5-4b43-8f0f-2a9e9d3a7d55',
    instance: 'bench',
    requestId: '0b7a3a0e-58a5-4b43-8f0f-2a9e9d3a7d55',
    route: 'POST /auth/v1/method/token',
    schema: 1,
  }),
})

/** The end of a token. */
export const tokenRevoked = (id: string = randomUUID()): NewEvent => ({
  ...tokenIssued(id),
  type: 'TokenRevoked',
  data: JSON.stringify({ id }),
})
