import { json } from '../../words/json.ts'

type Flaw = { readonly at: number; readonly words: string }
/**
 * Tokens expected at a position: a value, a member name, its colon, or a separator. The first item of a list or object
 * may be its end.
 */
type Due = 'value' | 'item or end' | 'name' | 'name or end' | 'colon' | 'next'

const space = /[ \t\n\r]*/y
const escape = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y
const plain = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y

/** End of the match of a pattern at a position; undefined if there is none. */
const endOf = (form: RegExp, text: string, at: number): number | undefined => {
  form.lastIndex = at
  return form.test(text) ? form.lastIndex : undefined
}

/** End of the JSON string that begins here, or its syntax error. */
const endOfText = (text: string, from: number): number | Flaw => {
  for (let at = from + 1; at < text.length; ) {
    const unit = text[at]!
    if (unit === '"') return at + 1
    if (unit < ' ') return { at, words: json.control }
    const next = unit === '\\' ? endOf(escape, text, at) : at + 1
    if (next === undefined) return { at, words: json.escape }
    at = next
  }
  return { at: text.length, words: json.early }
}

const wordsFor = (due: Due, inside: string | undefined): string => {
  if (due === 'colon') return json.colon
  if (due === 'name' || due === 'name or end') return json.name
  if (due !== 'next') return json.value
  return inside === undefined ? json.end : inside === '{' ? json.nextMember : json.nextItem
}

const closing: Readonly<Record<string, string>> = { '{': '}', '[': ']' }

/** Finds the first syntax error of a JSON text. The parser does not recurse, so nesting may have any depth. */
const firstFlaw = (text: string): Flaw | undefined => {
  const open: string[] = []
  let due: Due = 'value'
  let at = 0
  for (;;) {
    at = endOf(space, text, at)!
    const unit = text[at]
    const inside = open.at(-1)
    if (unit === undefined) return due === 'next' && inside === undefined ? undefined : { at, words: json.early }
    const wrong = { at, words: wordsFor(due, inside) }
    const mayEnd = due === 'next' || due.endsWith('or end')
    if (inside !== undefined && mayEnd && unit === closing[inside]) {
      open.pop()
      due = 'next'
      at++
    } else if (due === 'next') {
      if (inside === undefined || unit !== ',') return wrong
      due = inside === '{' ? 'name' : 'value'
      at++
    } else if (due === 'colon') {
      if (unit !== ':') return wrong
      due = 'value'
      at++
    } else if (unit === '"') {
      const end = endOfText(text, at)
      if (typeof end !== 'number') return end
      due = due.startsWith('name') ? 'colon' : 'next'
      at = end
    } else if (due.startsWith('name')) return wrong
    else if (unit === '{' || unit === '[') {
      open.push(unit)
      due = unit === '{' ? 'name or end' : 'item or end'
      at++
    } else {
      const end = endOf(plain, text, at)
      if (end === undefined) return wrong
      due = 'next'
      at = end
    }
  }
}

/** Describes the first syntax error of a JSON text with its position; undefined if it is valid. */
export const jsonFlaw = (text: string): string | undefined => {
  const flaw = firstFlaw(text)
  if (!flaw) return undefined
  const lines = text.slice(0, flaw.at).split('\n')
  return json.not(flaw.words, lines.length, [...lines.at(-1)!].length + 1)
}

/** Whether it contains a number beyond `Number.MAX_SAFE_INTEGER`, which a browser cannot represent exactly. */
export const isImprecise = (value: unknown): boolean => {
  if (typeof value === 'number') return Math.abs(value) > Number.MAX_SAFE_INTEGER
  return typeof value === 'object' && value !== null && Object.values(value).some(isImprecise)
}
