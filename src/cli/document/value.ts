import { isAlias, isMap, isScalar, isSeq, Scalar } from 'yaml'
import { isJson } from './inline.ts'
import { lineOf, MAX_DEPTH, type Source, wrong } from './source.ts'

const settled = (source: Source): unknown => {
  const { node, within } = source
  if (!isAlias(node)) return node
  return within.targets.get(node) ?? wrong(source, `the document has no anchor &${node.source} before this alias.`)
}

const under = (path: string, name: string) =>
  path === '' || /document \d+$/.test(path) ? `${path} ${name}`.trim() : `${path}.${name}`

const nameOf = (source: Source, key: unknown): string => {
  const { within } = source
  if (!isScalar(key)) return wrong(source, 'has a key that is not text.')
  return typeof key.value === 'string' ? within.light.restore(key.value) : (key.source ?? '')
}

/** Called for a name that a mapping has a second time. */
type Twice = (member: Source, first: Source) => void
/** Refuses a repeated name. */
export const refuseTwice: Twice = (member, first) =>
  wrong(member, `is given twice; the first is in line ${lineOf(first)}.`)

/** Fields of a mapping, including those merged by `<<`. Of a repeated name the first counts. */
const membersOf = (source: Source, twice = refuseTwice, depth = 0): ReadonlyMap<string, Source> => {
  const { within, path } = source
  const map = settled(source)
  if (!isMap(map)) return wrong(source, 'must be a mapping.')
  if (depth > MAX_DEPTH) wrong(source, 'is merged into itself.')
  const [own, merged] = [new Map<string, Source>(), new Map<string, Source>()]
  for (const { key, value } of map.items) {
    within.use(1)
    const name = nameOf(source, key)
    const member = { node: value, within, path: under(path, name), mark: key }
    const first = own.get(name)
    if (name === '<<' && isScalar(key) && key.type === Scalar.PLAIN) {
      const list = settled(member)
      for (const node of isSeq(list) ? list.items : [value]) {
        for (const [name, inner] of membersOf({ ...member, node }, twice, depth + 1))
          if (!merged.has(name)) merged.set(name, inner)
      }
    } else if (first) twice(member, first)
    else own.set(name, member)
  }
  return new Map([...merged, ...own])
}

const isNull = (node: unknown): boolean =>
  node === null || node === undefined || (isScalar(node) && node.value === null)

/** The value; undefined if it is null in any notation. */
export const present = (source: Source | undefined): Source | undefined =>
  source && !isNull(settled(source)) ? source : undefined

/** The value; undefined if it is empty. An explicit null counts as a value. */
export const written = (source: Source | undefined): Source | undefined => {
  const node = source && settled(source)
  return isNull(node) && !(isScalar(node) && (node.source ?? '') !== '') ? undefined : source
}

/** Returns the fields with these names, and calls `unknown` for others. */
export const members = <K extends string>(
  source: Source,
  names: readonly K[],
  unknown: (member: Source, name: string) => void,
  twice?: Twice,
): { readonly [name in K]?: Source } => {
  const found: { [name in K]?: Source } = {}
  const known = new Map<string, K>(names.map((name) => [name, name]))
  for (const [name, member] of membersOf(source, twice)) {
    const wanted = known.get(name)
    if (wanted === undefined) unknown(member, name)
    else found[wanted] = member
  }
  return found
}

/** Items of a list; an absent list is empty. */
export const items = (source: Source | undefined): readonly Source[] => {
  const given = present(source)
  if (!given) return []
  const { within, path } = given
  const list = settled(given)
  if (!isSeq(list)) return wrong(given, 'must be a list.')
  within.use(list.items.length)
  return list.items.map((node, n) => {
    return { node, within, path: `${path}[${n}]`, mark: node ?? given.mark }
  })
}

/** Returns true for a mapping. */
export const isMapping = (source: Source): boolean => isMap(settled(source))

/** Returns true for a list. */
export const isList = (source: Source): boolean => isSeq(settled(source))

/** Text of a scalar; numbers and booleans keep the text of the source. */
export const text = (source: Source | undefined): string | undefined => {
  const given = present(source)
  if (!given) return undefined
  const { within } = given
  const node = settled(given)
  if (!isScalar(node)) return wrong(given, 'must be text.')
  const read = within.light.restore(typeof node.value === 'string' ? node.value : (node.source ?? ''))
  within.use(read.length)
  return read
}

const NUMERAL = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

const scalarJson = ({ value, source = '', type }: Scalar, at: Source): string => {
  const { within } = at
  if (type === Scalar.PLAIN) {
    const inline = within.light.jsonOf(source)
    if (inline !== undefined) return inline
  }
  if (typeof value === 'string') return JSON.stringify(within.light.restore(value))
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'number' && NUMERAL.test(source)) return source
  if (typeof value === 'number')
    return Number.isFinite(value) ? JSON.stringify(value) : wrong(at, `${source} cannot be represented in JSON.`)
  return typeof value === 'bigint' ? String(value) : JSON.stringify(source)
}

/** Value as compact JSON. Numbers keep the notation of the source. */
export const json = (source: Source, depth = 0): string => {
  const { within } = source
  const node = settled(source)
  if (depth > MAX_DEPTH) wrong(source, 'contains itself.')
  if (isMap(node)) {
    const parts = [...membersOf(source)].map(([name, member]) => `${JSON.stringify(name)}:${json(member, depth + 1)}`)
    return `{${parts.join(',')}}`
  }
  if (isSeq(node)) {
    const parts = items(source).map((item) => json(item, depth + 1))
    return `[${parts.join(',')}]`
  }
  const leaf = isScalar(node) ? scalarJson(node, source) : 'null'
  within.use(1 + leaf.length)
  return leaf
}

/** Source text of an inline JSON value unchanged; compact JSON of any other value. */
export const jsonSource = (source: Source): string => {
  const node = settled(source)
  const { restore } = source.within.light
  if ((isScalar(node) && node.tag === undefined) || isMap(node) || isSeq(node)) {
    const [from, to] = node.range ?? [0, 0]
    const written = restore(source.within.light.text.slice(from, to))
    if (isJson(written)) return written
  }
  return json(source)
}
