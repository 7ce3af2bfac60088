import t from 'tap'
import { metricsOf, metricsPage } from '../../src/http/operations/metrics.ts'
import { sharedPage } from '../../src/http/operations/metrics-page.ts'

await t.test('a page of ten thousand flags lets others run while it is written', async (t) => {
  const metrics = metricsOf(metricsPage('m_'), { flagLabels: true })
  for (let n = 0; n < 10_000; n++) {
    metrics.evaluations('default', `flag-${n}`).value++
    metrics.evaluationLatency('default', `flag-${n}`).observe(1)
  }
  const seen = { turns: 0, longest: 0, writing: true }
  const others = async () => {
    for (let before = performance.now(); seen.writing; before = performance.now()) {
      await new Promise((wake) => setImmediate(wake))
      seen.turns++
      seen.longest = Math.max(seen.longest, performance.now() - before)
    }
  }
  const [began, running] = [performance.now(), others()]
  const chunks = await metrics.write()
  seen.writing = false
  await running
  const bytes = chunks.reduce((sum, { length }) => sum + length, 0)
  const took = performance.now() - began
  t.comment(
    `${bytes} bytes in ${Math.round(took)} ms, ${seen.turns} turns of others, the longest stop ${seen.longest.toFixed(1)} ms`,
  )
  t.ok(bytes > 5_000_000)
  t.ok(seen.turns > 20)
})

await t.test(
  'one page at a time and at most one a second, shared by all; a failure is told to those who waited for it',
  async (t) => {
    let [time, made] = [0, 0]
    let write = async () => [Buffer.from(`page ${++made}`)]
    const page = sharedPage(
      () => write(),
      () => time,
    )
    const text = async () => Buffer.concat((await page()).plain).toString()
    t.strictSame(await Promise.all([text(), text(), text()]), ['page 1', 'page 1', 'page 1'])
    time = 999
    t.equal(await text(), 'page 1')
    time = 1000
    t.equal(await text(), 'page 2')
    const [first, second] = await Promise.all([(await page()).gzipped(), (await page()).gzipped()])
    t.equal(first, second, 'put into gzip once')

    let finish = (): void => undefined
    write = () => new Promise((done) => (finish = () => done([Buffer.from('slow')])))
    time = 2000
    const slow = text()
    time = 9000
    const late = text()
    finish()
    t.strictSame(await Promise.all([slow, late]), ['slow', 'slow'])

    time = 20_000
    write = () => Promise.reject(new Error('no'))
    await t.rejects(text(), { message: 'no' })
    write = async () => [Buffer.from('again')]
    t.equal(await text(), 'again')
  },
)
