/**
 * A process that prints the numbers of loaded modules of OpenTelemetry: after a service without a collector, and after
 * one with a collector. Its argument is an empty folder.
 */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { start } from '../../src/app/start.ts'
import { loadConfig } from '../../src/config/load.ts'

const folder = process.argv[2]!
const loaded = (): number =>
  Object.keys(createRequire(import.meta.url).cache).filter((path) => path.includes('@opentelemetry')).length

const counts: number[] = []
for (const more of [{}, { 'tracing.otlp_endpoint': 'http://127.0.0.1:9' }]) {
  const flags = {
    'server.host': '127.0.0.1',
    'server.http_port': '0',
    'storage.data_dir': join(folder, 'data'),
    'log.file': join(folder, 'log'),
  }
  const running = await start(loadConfig({ env: {}, flags: { ...flags, ...more } }).config)
  await fetch(`${running.url}/health`)
  await running.close()
  counts.push(loaded())
}
process.stdout.write(JSON.stringify(counts))
