import { isAlias, isCollection, isMap, isScalar, isSeq, Scalar } from 'yaml'
import { parseExactly } from '../../base/exact-json.ts'
import { isFailure } from '../../base/failure.ts'
import { didYouMean } from '../../config/problem.ts'
import { isJson } from '../../contract/flags/variant.ts'
import { lineOf, MAX_DEPTH, type Problems, placeOf, type Source, wrong } from './source.ts'

type Possible = Source | undefined

/** Reports a problem of a document, and goes on. */
export const report = (at: Source, problem: string): void => at.within.problems.wrong(`${placeOf(at)}: ${problem}`)

/** Reports a value that cannot be read, which is then undefined. A document that is too large ends the reading. */
export const attempt = <T>({ wrong }: Problems, read: () => T): T | undefined => {
  try {
    return read()
  } catch (error) {
    if (!isFailure(error) || error.about['unreadable'] === true) throw error
    wrong(error.message)
    return undefined
  }
}

const settled = (source: Source): unknown => {
  const { node, within } = source
  if (!isAlias(node)) return node
  return within.targets.get(node) ?? wrong(source, `the document has no anchor &${node.source} before this alias.`)
}

const isNull = (node: unknown): boolean => !node || (isScalar(node) && node.value === null)

/** Reader of a value and its node. A value that is absent or cannot be read is undefined. */
const reader =
  <T>(read: (given: Source, node: unknown) => T, isAbsent = isNull) =>
  (source: Possible): T | undefined =>
    source &&
    attempt(source.within.problems, () => {
      const node = settled(source)
      return isAbsent(node) ? undefined : read(source, node)
    })

const textOf = ({ value, source = '' }: Scalar, { within }: Source): string =>
  within.restore(typeof value === 'string' ? value : source)

const under = (path: string, name: string) =>
  path === '' || /document \d+$/.test(path) ? `${path} ${name}`.trim() : `${path}.${name}`

/** Members of a mapping, including those merged by `<<`. Of a repeated name the first counts. */
const membersOf = (source: Source, complain: typeof report, depth = 0): ReadonlyMap<string, Source> => {
  const { within, path } = source
  const map = settled(source)
  if (!isMap(map)) return wrong(source, 'must be a mapping.')
  if (depth > MAX_DEPTH) wrong(source, 'is merged into itself.')
  const [own, merged] = [new Map<string, Source>(), new Map<string, Source>()]
  for (const { key, value } of map.items) {
    within.use(1)
    if (!isScalar(key)) return wrong(source, 'has a key that is not text.')
    const name = textOf(key, source)
    const member = { within, path: under(path, name), node: value, mark: key }
    const first = own.get(name)
    if (name === '<<' && key.type === Scalar.PLAIN) {
      const list = settled(member)
      for (const node of isSeq(list) ? list.items : [value]) {
        for (const [name, inner] of membersOf({ ...member, node }, complain, depth + 1))
          if (!merged.has(name)) merged.set(name, inner)
      }
    } else if (first) complain(member, `is given twice; the first is in line ${lineOf(first)}.`)
    else own.set(name, member)
  }
  return new Map([...merged, ...own])
}

const itemsOf = (source: Source, list: unknown): readonly Source[] => {
  if (!isSeq(list)) return wrong(source, 'must be a list.')
  const { within, path } = source
  within.use(list.items.length)
  return list.items.map((node, n) => ({ within, path: `${path}[${n}]`, node, mark: node }))
}

const scalarJson = (scalar: Scalar, at: Source): string => {
  const { value, type } = scalar
  const text = textOf(scalar, at)
  // A plain text that differs from its value is a placeholder.
  const isText = typeof value === 'string' && (type !== Scalar.PLAIN || text === value)
  if (!isText && isJson(text)) return text
  if (typeof value !== 'number') return JSON.stringify(value === null || typeof value === 'boolean' ? value : text)
  return Number.isFinite(value) ? JSON.stringify(value) : wrong(at, `${text} cannot be represented in JSON.`)
}

/** Value as compact JSON. Numbers keep the notation of the source. */
const jsonOf = (source: Source, depth = 0): string => {
  const node = settled(source)
  if (depth > MAX_DEPTH) wrong(source, 'contains itself.')
  const inner = (part: Source) => jsonOf(part, depth + 1)
  if (isMap(node)) {
    const parts = [...membersOf(source, wrong)].map(([name, member]) => `${JSON.stringify(name)}:${inner(member)}`)
    return `{${parts.join(',')}}`
  }
  if (isSeq(node)) return `[${itemsOf(source, node).map(inner).join(',')}]`
  const leaf = isScalar(node) ? scalarJson(node, source) : 'null'
  source.within.use(1 + leaf.length)
  return leaf
}

/** The value; undefined if it is null in any notation. */
export const present = reader((given) => given)

/** Returns true for a mapping. */
export const isMapping = reader((_, node) => isMap(node))

/** Items of a list. */
export const items = reader(itemsOf)

const textOr = (otherwise: string) =>
  reader((given, node) => {
    const read = isScalar(node) ? textOf(node, given) : wrong(given, `must be text${otherwise}.`)
    given.within.use(read.length)
    return read
  })
/** Text of a scalar; numbers and booleans keep the text of the source. */
export const text = textOr('')
/** Text of a member that may also be a mapping, which the caller reads itself. */
export const textOrMapping = textOr(' or a mapping')
const textOrList = textOr(' or a list')

/** Value as JSON.parse returns it, with exact integers. */
export const plain = reader((given) => parseExactly(jsonOf(given)))

const typed = (types: readonly string[], otherwise: string) =>
  reader((given) => {
    const value = parseExactly(jsonOf(given))
    return types.includes(typeof value) ? value : wrong(given, otherwise)
  })
/** A boolean. */
export const truth = typed(['boolean'], 'must be true or false.')
/** A number, or a text that the validation rules of the service will reject. */
export const amount = typed(['number', 'bigint', 'string'], 'must be a number.')

/** Text, or a YAML list as JSON: of numbers as they are, or of texts. */
export const valueOrList = (source: Possible, numbers: boolean): string | undefined =>
  reader((given, node) => {
    if (!isSeq(node)) return textOrList(given)
    return numbers ? jsonOf(given) : JSON.stringify(itemsOf(given, node).map((item) => text(item) ?? ''))
  })(source)

/** Source text of an inline JSON value unchanged; compact JSON of any other value, of which `null` is one. */
export const json = reader(
  (given, node) => {
    if (isCollection(node) || (isScalar(node) && node.tag === undefined)) {
      const [from, to] = node.range ?? [0, 0]
      const written = given.within.restore(given.within.text.slice(from, to))
      if (isJson(written)) return written
    }
    return jsonOf(given)
  },
  (node) => isNull(node) && !(isScalar(node) && node.source),
)

/** A member that resembles a defined one is misspelt; any other one is ignored. */
const misspelt = (member: Source, name: string, names: readonly string[]): void => {
  const hint = didYouMean(name, names)
  if (hint === '') member.within.problems.unknown(placeOf(member))
  else report(member, `is not defined${hint}.`)
}

/** Members with these names, and `other` for each other one; undefined for a value that is no mapping. */
export const members = <K extends string>(source: Source, names: readonly K[], other = misspelt) =>
  attempt(source.within.problems, () => {
    const found = membersOf(source, report)
    for (const [name, member] of found) if (!names.some((each) => each === name)) other(member, name, names)
    return Object.fromEntries(found) as { readonly [name in K]?: Source }
  })
