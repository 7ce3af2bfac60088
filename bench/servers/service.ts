import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { start } from '../../src/app.ts'
import { loadConfig } from '../../src/config.ts'
import { seedFlags } from '../seed.ts'

/** The whole service in a process of its own, on an embedded store with this many flags. Says its address and its token in one line of JSON. */
const directory = await mkdtemp(join(tmpdir(), 'rollcall-bench-'))
const token = `bench-${randomBytes(24).toString('base64url')}`
const flags = {
  'server.host': '127.0.0.1',
  'server.http_port': '0',
  'storage.data_dir': join(directory, 'data'),
  'log.file': join(directory, 'log'),
  'authentication.methods.token.bootstrap.token': token,
}
const { config } = loadConfig({ env: {}, flags })
await seedFlags(config, Number(process.argv[2] ?? 100))
const running = await start(config)
process.stdout.write(`${JSON.stringify({ url: running.url, token })}\n`)
process.on('SIGTERM', () => {
  void running
    .close()
    .then(() => rm(directory, { recursive: true, force: true }))
    .then(() => process.exit(0))
})
