import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { type Embedded, openEmbedded } from '../../../src/adapters/embedded/open.ts'
import { type Clock, systemClock } from '../../../src/base/clock.ts'

/** A directory that is removed with its test. */
export const newDirectory = async (t: Test): Promise<string> => {
  const directory = await mkdtemp(join(tmpdir(), 'rollcall-test-'))
  t.teardown(() => rm(directory, { recursive: true }))
  return directory
}

type Port = 'log' | 'views' | 'queue' | 'keys'

/** A complete store. */
export const storeOf = async (t: Test) => {
  const directory = await newDirectory(t)
  const kek = randomBytes(32)
  return { open: () => openEmbedded(directory, { clock: systemClock, kek, onError: () => undefined }) }
}

/** One port of a store; closing the port closes the store. */
export const portOf = async <P extends Port>(t: Test, port: P, clock: Clock = systemClock) => {
  const directory = await newDirectory(t)
  const kek = randomBytes(32)
  const errors: unknown[] = []
  const open = async (): Promise<Embedded[P]> => {
    const store = await openEmbedded(directory, { clock, kek, onError: (_, error) => errors.push(error) })
    return { ...store[port], close: store.close }
  }
  return { open, errors, directory, shared: false }
}
