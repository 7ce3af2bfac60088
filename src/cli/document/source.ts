import { Composer, type Document, isAlias, isNode, isScalar, isSeq, Lexer, LineCounter, Parser, visit } from 'yaml'
import { closingQuote } from '../../base/exact-json.ts'
import { fail } from '../../base/failure.ts'
import { extractAttachments, isJson, type Lightened } from './inline.ts'

type Parsed = Document.Parsed

/** Maximum depth of nesting. */
export const MAX_DEPTH = 100
/** Maximum YAML tokens of one source; reading them takes about half a gigabyte. */
const MAX_LEXEMES = 2_000_000
/** Maximum expansion by aliases, in nodes and characters. */
const MAX_ADDED = 10_000_000

/** A value of a document, its path, and the node that marks its line in the file. */
export type Source = {
  readonly path: string
  readonly mark: unknown
  readonly node: unknown
  readonly within: Whole
}
type Whole = {
  readonly file: string
  /** Line of a node in the file; undefined for a node that the reader inserted. */
  readonly lineOf: (node: unknown) => number | undefined
  readonly light: Lightened
  /** Target of each alias: the last anchor with its name before it. */
  readonly targets: ReadonlyMap<unknown, unknown>
  readonly use: (cost: number) => void
}

const LONGEST_PATH = 300

/** Line of a value in its file. */
export const lineOf = ({ within, mark }: Source): number => within.lineOf(mark) ?? 1

/** Location for messages: `file:line: path`. A long path is cut. */
export const placeOf = (source: Source): string => {
  const { within, path } = source
  const place = `${within.file}:${lineOf(source)}`
  return path === '' ? place : `${place}: ${path.length > LONGEST_PATH ? `${path.slice(0, LONGEST_PATH)}…` : path}`
}

/** Fails with the location of a problem in the document. No request has been sent yet. */
export const wrong = (at: Source | string, problem: string): never =>
  fail('usage', `${typeof at === 'string' ? at : placeOf(at)}: ${problem}`)

/** Fails because the rest of a file cannot be read. */
const broken = (file: string, problem: string): never =>
  fail('usage', `${file}: ${problem}`, undefined, { unreadable: true })

const targetsOf = (document: Parsed): ReadonlyMap<unknown, unknown> => {
  const [anchors, targets] = [new Map<string, unknown>(), new Map<unknown, unknown>()]
  visit(document, {
    Node: (_, node) => {
      if (isAlias(node)) targets.set(node, anchors.get(node.source))
      else if (node.anchor !== undefined) anchors.set(node.anchor, node)
    },
  })
  return targets
}

/** Limits the expansion of one document, because aliases can make a short text endless. */
const budget = (file: string, size: number) => {
  let left = MAX_ADDED + 4 * size
  return (cost: number): void => {
    left -= cost
    if (left < 0) broken(file, 'The aliases of the document expand to too much data.')
  }
}

const composed = function* (file: string, first: number, text: string, lines: LineCounter): Generator<Parsed> {
  lines.addNewLine(0)
  const parser = new Parser(lines.addNewLine)
  const composer = new Composer({ uniqueKeys: false, prettyErrors: false })
  const checked = function* (documents: Iterable<Parsed>) {
    for (const document of documents) {
      const [error] = document.errors
      if (error) wrong(`${file}:${first + lines.linePos(error.pos[0]).line}`, `is not valid YAML: ${error.message}`)
      yield document
    }
  }
  let count = 0
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) yield* checked(composer.next(token))
    if (parser.stack.length > MAX_DEPTH)
      wrong(`${file}:${first + lines.lineStarts.length}`, `is nested deeper than ${MAX_DEPTH} levels.`)
    if (++count > MAX_LEXEMES)
      broken(file, 'The document is too large: split it into documents of at most one namespace.')
  }
  for (const token of parser.end()) yield* checked(composer.next(token))
  yield* checked(composer.end())
}

/** Part of a file, and the number of lines before it. */
type Piece = { readonly text: string; readonly line: number }

/**
 * At least two JSON objects or lists, one after another with white space and comments (`#`) between them; undefined for
 * any other text.
 */
const jsonValues = (text: string): readonly Piece[] | undefined => {
  const values: Piece[] = []
  let [depth, from, line, counted] = [0, 0, 0, 0]
  for (let at = 0; at < text.length; at++) {
    const sign = text[at]!
    if (sign === '{' || sign === '[') {
      if (depth++ === 0) from = at
    } else if (sign === '}' || sign === ']') {
      if (--depth > 0) continue
      const value = text.slice(from, at + 1)
      if (depth < 0 || !isJson(value)) return undefined
      for (; counted < from; counted++) if (text[counted] === '\n') line++
      values.push({ text: value, line })
    } else if (depth > 0) {
      if (sign === '"') at = closingQuote(text, at)
    } else if (sign === '#') {
      const end = text.indexOf('\n', at)
      at = end < 0 ? text.length : end
    } else if (!' \t\r\n'.includes(sign)) return undefined
  }
  return depth === 0 && values.length > 1 ? values : undefined
}

/**
 * Documents of a YAML stream, or of JSON objects and lists of objects, one after another. A byte order mark at the
 * start of a line is skipped, because files that are joined have one in front of each document.
 */
export const sourcesIn = (file: string, given: string): readonly Source[] => {
  const text = given.replace(/^\ufeff/gm, '')
  const found: Omit<Source, 'path'>[] = []
  for (const { text: piece, line: first } of jsonValues(text) ?? [{ text, line: 0 }]) {
    const light = extractAttachments(piece)
    const spend = budget(file, piece.length)
    const lines = new LineCounter()
    const lineOfNode = (node: unknown) =>
      isNode(node) && node.range ? first + lines.linePos(node.range[0]).line : undefined
    for (const document of composed(file, first, light.text, lines)) {
      const { contents } = document
      if (contents === null || (isScalar(contents) && contents.value === null)) continue
      const within: Whole = { file, lineOf: lineOfNode, light, targets: targetsOf(document), use: spend }
      for (const node of isSeq(contents) ? contents.items : [contents]) found.push({ node, within, mark: node })
    }
  }
  return found.map((source, n) => ({ ...source, path: found.length > 1 ? `document ${n + 1}` : '' }))
}
