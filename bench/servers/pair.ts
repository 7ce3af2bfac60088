import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { start } from '../../src/app/start.ts'
import { loadConfig } from '../../src/config/load.ts'
import { seedFlags } from '../seed.ts'
import { answerMeasures } from './measures.ts'
import { settingsOf } from './settings.ts'

/**
 * Two services in one process, each on an embedded store of its own with the same flags. They share their compiled code,
 * so the CPU times of two equal services differ by at most 5 %; those of two processes differ by up to 25 %.
 * `--first=key=value` and `--second=key=value` are settings of one of them. Writes the two URLs and the token as one
 * line of JSON, and answers measures.
 */
const { values } = parseArgs({
  options: {
    flags: { type: 'string', default: '0' },
    first: { type: 'string', multiple: true, default: [] },
    second: { type: 'string', multiple: true, default: [] },
  },
})
const directory = await mkdtemp(join(tmpdir(), 'rollcall-bench-'))
const bootstrap = `bench-${randomBytes(24).toString('base64url')}`

const started = async (name: string, settings: readonly string[]) => {
  const { config } = loadConfig({
    env: {},
    flags: {
      'server.host': '127.0.0.1',
      'server.http_port': '0',
      'storage.data_dir': join(directory, name),
      'log.file': join(directory, `${name}.log`),
      'authentication.required': 'true',
      'authentication.methods.token.bootstrap.token': bootstrap,
      ...settingsOf(settings),
    },
  })
  await seedFlags(config, Number(values.flags))
  return start(config)
}

const services = [await started('first', values.first), await started('second', values.second)]
const [{ url }, { url: secondUrl }] = services as [(typeof services)[0], (typeof services)[0]]
process.stdout.write(`${JSON.stringify({ url, secondUrl, tokens: [bootstrap] })}\n`)
answerMeasures()
process.on('SIGTERM', () => {
  void Promise.all(services.map(({ close }) => close()))
    .then(() => rm(directory, { recursive: true, force: true }))
    .then(() => process.exit(0))
})
