import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Config, loadConfig } from '../src/config/load.ts'
import { type Server, startServer } from './processes.ts'

/** Does a work with a service in a process of its own, over an embedded store that was filled before. `token` is its bootstrap token. */
export const onFilled = async <F, R>(
  token: string,
  fill: (config: Config) => Promise<F>,
  work: (server: Server, filled: F) => Promise<R>,
): Promise<R> => {
  const directory = await mkdtemp(join(process.env['ROLLCALL_BENCH_DIR'] ?? process.cwd(), '.bench-'))
  try {
    const { config } = loadConfig({ env: {}, flags: { 'storage.data_dir': directory } })
    const filled = await fill(config)
    const set = { 'storage.data_dir': directory, 'authentication.methods.token.bootstrap.token': token }
    const given = Object.entries(set).map(([key, value]) => `--set=${key}=${value}`)
    const server = await startServer('service', ...given, `--token=${token}`)
    try {
      return await work(server, filled)
    } finally {
      await server.stop()
    }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}
