import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { root } from '../root.ts'

/** The environment without the settings that tap and npm give to this test. */
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^_?TAP|^NODE_V8_COVERAGE$/.test(name)))

await t.test('the first commands of CONTRIBUTING.md run one test', async (t) => {
  const [, first = ''] = /```sh\n(.*?)```/s.exec(readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8')) ?? []
  const commands = [...first.matchAll(/^npm run test:one -- \S+$/gm)]
  t.equal(commands.length, 1)
  for (const [command] of commands) {
    const { status, stdout, stderr } = spawnSync(command, { cwd: root, env, shell: true, encoding: 'utf8' })
    t.equal(status, 0, stderr)
    t.match(stdout, /pass: [1-9]\d*, fail: 0/)
  }
})
