import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import t from 'tap'
import { checksum } from '../../src/evaluation/bucket.ts'
import { compileFlag } from '../../src/evaluation/compile.ts'
import { finder } from '../../src/evaluation/constraint.ts'
import { evaluateBoolean, evaluateVariant } from '../../src/evaluation/evaluate.ts'
import type { Context } from '../../src/evaluation/flag.ts'
import type { TraceStep } from '../../src/evaluation/trace.ts'
import { normalDatetime, parseDatetime, parseNumber } from '../../src/evaluation/values.ts'
import { datetimeText, entityId, flag, numberText, requests, segments } from './arbitraries.ts'
import { referenceBoolean, referenceVariant } from './reference.ts'
import { referenceChecksum, referenceDatetime, referenceNumber } from './reference-values.ts'

const differ = (what: unknown, got: unknown, wanted: unknown): never => {
  throw new Error(`${JSON.stringify(what)}\ngot    ${JSON.stringify(got)}\nwanted ${JSON.stringify(wanted)}`)
}

await t.test('parsing a text as a number has the result of exact arithmetic', async (t) => {
  let numbers = 0
  fc.assert(
    fc.property(numberText, (text) => {
      const [got, wanted] = [parseNumber(text), referenceNumber(text)]
      if (got !== undefined) numbers++
      // No operator distinguishes 0 from -0.
      if (!Object.is(got === 0 ? 0 : got, wanted === 0 ? 0 : wanted)) differ(text, got, wanted)
    }),
    { numRuns: 40_000 },
  )
  t.ok(numbers > 5_000, `${numbers} of them were numbers`)
})

await t.test('the hexadecimal text of every power of two is parsed exactly', async (t) => {
  for (let power = -1080; power <= 1030; power++) {
    for (const text of [
      `0x1p${power}`,
      `0x1.8p${power}`,
      `0x1.fffffffffffff8p${power}`,
      `-0x0.00000000000000000008p${power + 77}`,
    ]) {
      const [got, wanted] = [parseNumber(text), referenceNumber(text)]
      if ((got === 0 ? 0 : got) !== (wanted === 0 ? 0 : wanted)) t.fail(`${text}: ${got} is not ${wanted}`)
    }
  }
  t.pass()
})

const EPOCH = referenceDatetime('1970-01-01')!

await t.test('parsing a date has the result of counting days', async (t) => {
  let instants = 0
  fc.assert(
    fc.property(datetimeText, (text) => {
      const [got, wanted] = [parseDatetime(text), referenceDatetime(text)]
      if (got === undefined || wanted === undefined)
        return got === wanted ? undefined : differ(text, got, String(wanted))
      instants++
      const nanoseconds = BigInt(got.seconds) * 1_000_000_000n + BigInt(got.nanoseconds)
      if (nanoseconds !== wanted - EPOCH) differ(text, String(nanoseconds), String(wanted - EPOCH))
      const normal = normalDatetime(text)
      if (normal === undefined) return
      const again = referenceDatetime(normal)
      if (again !== wanted - (((wanted % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n))
        differ(text, normal, String(again))
      if (normalDatetime(normal) !== normal) differ(text, normalDatetime(normal), normal)
    }),
    { numRuns: 40_000 },
  )
  t.ok(instants > 5_000, `${instants} of them were datetimes`)
})

await t.test('the checksum of several texts is that of their joined UTF-8 bytes', async (t) => {
  fc.assert(
    fc.property(entityId, entityId, (head, tail) => {
      const [got, wanted] = [checksum(head, tail), referenceChecksum(head + tail)]
      if (got !== wanted) differ([head, tail], got, wanted)
    }),
    { numRuns: 5_000 },
  )
  t.pass()
})

await t.test('the search for long texts gives the same result as the search of JavaScript', async (t) => {
  const repetitive = (minLength: number, maxLength: number) =>
    fc.array(fc.constantFrom('a', 'aa', 'aab', 'b'), { minLength, maxLength })
  let found = 0
  fc.assert(
    fc.property(repetitive(14, 30), repetitive(0, 40), repetitive(0, 40), fc.nat(80), (part, before, behind, cut) => {
      const needle = part.join('')
      const text = [before, part, behind].flat().join('').slice(cut)
      const [got, wanted] = [finder(needle)(text), text.includes(needle)]
      if (wanted) found++
      if (got !== wanted) differ([needle, text], got, wanted)
    }),
    { numRuns: 10_000 },
  )
  t.ok(found > 1_000 && found < 9_500, `${found} of them were found`)
})

const FLAGS = 8_000
const REQUESTS = 25

await t.test('answers and traces equal those of the reference implementation', async (t) => {
  const seen: Record<string, number> = {}
  const count = (what: string) => (seen[what] = (seen[what] ?? 0) + 1)
  fc.assert(
    fc.property(
      segments.chain((all) => fc.tuple(fc.constant(all), flag, requests(all, REQUESTS))),
      ([all, input, asked]) => {
        const compiled = compileFlag(input, (key) => all.find((segment) => segment.key === key))
        for (const [id, entries] of asked) {
          const context: Context = Object.fromEntries(entries)
          const entity = { entityId: id, context: new Map(entries) }
          const trace: TraceStep[] = []
          const evaluated =
            compiled.type === 'boolean'
              ? { plain: evaluateBoolean(compiled, id, context), traced: evaluateBoolean(compiled, id, context, trace) }
              : { plain: evaluateVariant(compiled, id, context), traced: evaluateVariant(compiled, id, context, trace) }
          const wanted = (compiled.type === 'boolean' ? referenceBoolean : referenceVariant)(input, all, entity)
          const same = isDeepStrictEqual(evaluated.plain, evaluated.traced)
          if ('error' in wanted) {
            count('unknown type')
            if (!same || !isDeepStrictEqual(evaluated.plain, wanted))
              differ({ input, all, id, entries }, evaluated, wanted)
          } else {
            count(`${compiled.type} ${wanted.answer.reason}`)
            if (wanted.answer.segmentKeys.length > 0) count(`${compiled.type} by segment`)
            if (!same || !isDeepStrictEqual({ answer: evaluated.plain, trace }, wanted)) {
              differ({ input, all, id, entries }, { evaluated, trace }, wanted)
            }
          }
        }
      },
    ),
    { numRuns: FLAGS },
  )
  t.comment(JSON.stringify(seen))
  for (const what of ['unknown type', 'boolean match', 'boolean default', 'boolean by segment', 'variant match']) {
    t.ok(seen[what]! > 1_000, `${what}: ${seen[what]}`)
  }
  for (const what of ['variant unknown', 'variant default', 'variant disabled', 'variant by segment'])
    t.ok(seen[what]! > 1_000, what)
})
