import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { everyAnswer, FORMS, isBegun } from './every-answer.ts'
import { PARTINGS, type Received, readAnswer } from './parting-client.ts'

/** Fails the test at an error that would end the process of a service, and at a warning; names the exchange. */
const surviving = (t: Test) => {
  let during = ''
  const onUncaught = (error: unknown): void => void t.fail(`uncaught: ${String(error)}, at ${during}`)
  const kinds = ['uncaughtException', 'unhandledRejection', 'warning'] as const
  for (const kind of kinds) process.on(kind, onUncaught)
  t.teardown(() => {
    for (const kind of kinds) process.off(kind, onUncaught)
    if (!t.passing()) t.comment(`last exchange: ${during}`)
  })
  return (...name: readonly unknown[]) => void (during = name.join(' '))
}

await t.test('HTTP/1.0 receives the same answer of each route as HTTP/1.1, with and without gzip', async (t) => {
  const note = surviving(t)
  const { asked, exchange } = await everyAnswer(t)
  for (const one of asked) {
    const answers: unknown[] = []
    for (const form of FORMS) {
      note(one.name, form.version, form.accept)
      const { head, status, text } = readAnswer(await exchange(one, form))
      if (form.version === '1.0') t.notMatch(head, /^(?:trailer|transfer-encoding):/im, one.name)
      // An answer without an end is left within it, and the end of the own token changes the next answer.
      const isCompared = !isBegun(one, `${head}\r\n\r\n${text}`) && !one.path.endsWith('/expire')
      answers.push(isCompared ? { status, text } : status < 500)
    }
    t.strictSame(
      answers,
      answers.map(() => answers[0]),
      one.name,
    )
  }
})

/** Positions at which an answer is cut: at each write, and its share of all bytes, or of a sample of 512 of them. */
const positionsOf = (writes: readonly number[], share: number, shares: number): ReadonlySet<number> => {
  const length = writes.at(-1) ?? 0
  const step = shares * Math.ceil(length / 512)
  const others = Array.from({ length: Math.ceil(length / step) }, (_, n) => n * step + share)
  return new Set([...writes, ...others].filter((at) => at <= length))
}

/** Framing of an answer: the headers that decide it, without their values. */
const framingOf = (method: string, head: string): string =>
  [
    method === 'HEAD',
    ...(head.match(/^(?:content-(?:length|encoding)|transfer-encoding|.*event-stream)/gim) ?? []),
  ].join()

await t.test('a client that leaves at any byte of any answer ends that answer alone', async (t) => {
  const note = surviving(t)
  const { service, asked, exchange } = await everyAnswer(t)
  const ways = FORMS.flatMap((form) => PARTINGS.map((parting) => ({ form, parting })))
  const framings = new Set<string>()
  let cuts = 0
  for (const [n, one] of asked.entries()) {
    const wholes: Record<string, Received> = {}
    for (const [share, { form, parting }] of ways.entries()) {
      // One answer of each framing is cut at every byte, each other answer at its writes.
      const isOwn = share === n % ways.length
      if (!isOwn && one.method !== 'GET' && one.method !== 'HEAD') continue
      note(one.name, form.version, form.accept)
      const whole = (wholes[form.version + form.accept] ??= await exchange(one, form))
      const framing = `${framingOf(one.method, readAnswer(whole).head)} ${share}`
      const isFirst = !framings.has(framing)
      framings.add(framing)
      if (!isFirst && !isOwn) continue
      for (const most of isFirst ? positionsOf(whole.writes, share, ways.length) : [0, ...whole.writes]) {
        note(one.name, form.version, form.accept, parting, most)
        await exchange(one, form, { most, parting })
        cuts++
      }
    }
  }
  t.comment(`${asked.length} requests, ${framings.size} framings, ${cuts} cuts`)
  t.equal((await service.request('GET', '/livez')).status, 200)
  t.notMatch(await service.logged(), /"level":"(?:ERROR|FATAL)"/)
})

const STEPS = ['setHeader', 'writeHead', 'write', 'end'] as const

await t.test('a fault in any step of any answer ends that answer alone, and is logged once', async (t) => {
  const note = surviving(t)
  const { service, asked, exchange } = await everyAnswer(t)
  let failing: { readonly step: (typeof STEPS)[number]; readonly call: number } | undefined
  let [calls, faults] = [0, 0]
  const onRequest = (message: unknown): void => {
    const { response } = message as { readonly response: ServerResponse }
    calls = 0
    if (!failing) return
    const { step, call } = failing
    const real = response[step].bind(response) as (...given: unknown[]) => unknown
    const replaced = (...given: unknown[]): unknown => {
      if (++calls !== call) return real(...given)
      faults++
      throw new Error('fault of a step')
    }
    Object.assign(response, { [step]: replaced })
  }
  subscribe('http.server.request.start', onRequest)
  t.teardown(() => void unsubscribe('http.server.request.start', onRequest))
  for (const [n, one] of asked.entries())
    for (const step of STEPS)
      for (const form of FORMS.filter((_, m) => (one.method === 'GET' ? m % 2 === n % 2 : m === n % FORMS.length)))
        for (let call = 1; call < 4; call++) {
          note(one.name, form.version, form.accept, step, call)
          failing = { step, call }
          await exchange(one, form)
          if (calls < call) break
        }
  failing = undefined
  t.comment(`${faults} faults`)
  t.equal((await service.request('GET', '/livez')).status, 200)
  const lines = (await service.logged()).match(/^.*"level":"ERROR".*fault of a step.*$/gm) ?? []
  t.equal(lines.length, faults)
})
