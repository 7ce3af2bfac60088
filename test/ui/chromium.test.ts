import t from 'tap'
import { serveChromium, sharedChromium, skip } from './chromium.ts'

await t.test('files share one Chromium, in which each has windows of its own', { skip }, async (t) => {
  const { server, env } = await serveChromium()
  t.teardown(() => server.close())
  const [one, other] = await Promise.all([sharedChromium(env), sharedChromium(env)])
  const page = await (await one.newContext()).newPage()
  t.equal(one.contexts().length, 1)
  t.equal(other.contexts().length, 0, 'what one opens is not seen by the other')
  await other.close()
  t.equal(await page.evaluate('1 + 1'), 2, 'the end of one file is not the end of the others')
  await one.close()
  const later = await sharedChromium(env)
  t.equal(later.contexts().length, 0, 'what a file opened ends with it')
  await (await later.newContext()).newPage()
  await server.close()
  const { exitCode, signalCode } = server.process()
  t.ok(exitCode !== null || signalCode !== null, 'it ends with the run, though a file is still there')
})
