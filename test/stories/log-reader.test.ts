import { join } from 'node:path'
import t from 'tap'
import { scratch, serve } from './own-process.ts'

/** Number of refused writes whose log lines fill every buffer before a stopped reader. */
const REQUESTS = 1600
const TOGETHER = 40

await t.test('a log reader that stops reading blocks neither the service nor its end', async (t) => {
  const service = await serve(t, join(await scratch(t), 'data'))
  service.readNoMore()
  for (let asked = 0; asked < REQUESTS; asked += TOGETHER) {
    const answers = await Promise.all(
      Array.from({ length: TOGETHER }, () => service.ask('POST', '/api/v1/namespaces/default/flags', {})),
    )
    if (answers.some(({ status }) => status !== 400)) t.fail('every request is answered')
  }
  t.equal((await service.ask('GET', '/livez')).status, 200)
  t.equal((await service.ask('GET', '/readyz')).status, 200)
  service.kill('SIGTERM')
  t.equal(await service.exited, 0, 'it ends in order')
})
