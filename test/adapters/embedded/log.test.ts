import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openEmbedded } from '../../../src/adapters/embedded/open.ts'
import { logContract } from '../../contracts/log.ts'

const make = async (t: Test) => {
  const directory = await mkdtemp(join(tmpdir(), 'rollcall-log-'))
  t.teardown(() => rm(directory, { recursive: true }))
  const open = async () => {
    const { log, close } = await openEmbedded(directory)
    return {
      ...log,
      close: async () => {
        await log.close()
        await close()
      },
    }
  }
  return { open }
}

void t.test('Log', async (t) => logContract(t, make))
