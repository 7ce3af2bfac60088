import { Composer, type Document, isAlias, isScalar, isSeq, Lexer, LineCounter, Parser, visit } from 'yaml'
import { fail } from '../../failure.ts'
import { extractAttachments, isJson, type Lightened } from './inline.ts'

type Parsed = Document.Parsed

/** Maximum depth of nesting. */
export const MAX_DEPTH = 100
/** Maximum YAML tokens of one source; reading them takes about half a gigabyte. */
const MAX_LEXEMES = 2_000_000
/** Maximum expansion by aliases, in nodes and characters. */
const MAX_ADDED = 10_000_000

/** A value of a document and its location; `path` names it in messages. */
export type Source = {
  readonly path: string
  readonly node: unknown
  readonly within: Whole
}
type Whole = {
  readonly light: Lightened
  /** Target of each alias: the last anchor with its name before it. */
  readonly targets: ReadonlyMap<unknown, unknown>
  readonly use: (cost: number) => void
}

/** Fails with the location of a problem in the document. No request has been sent yet. */
export const wrong = (path: string, problem: string): never =>
  fail('usage', path === '' ? problem : `${path}: ${problem}`)

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
const budget = (size: number) => {
  let left = MAX_ADDED + 4 * size
  return (cost: number): void => {
    left -= cost
    if (left < 0) wrong('', 'The aliases of the document expand to too much data.')
  }
}

const composed = function* (text: string): Generator<Parsed> {
  const lines = new LineCounter()
  lines.addNewLine(0)
  const parser = new Parser(lines.addNewLine)
  const composer = new Composer({ uniqueKeys: false, prettyErrors: false })
  const checked = function* (documents: Iterable<Parsed>) {
    for (const document of documents) {
      const [error] = document.errors
      if (error) wrong(`line ${lines.linePos(error.pos[0]).line}`, `is not valid YAML: ${error.message}`)
      yield document
    }
  }
  let count = 0
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) yield* checked(composer.next(token))
    if (parser.stack.length > MAX_DEPTH)
      wrong(`line ${lines.lineStarts.length}`, `is nested deeper than ${MAX_DEPTH} levels.`)
    if (++count > MAX_LEXEMES) wrong('', 'The document is too large: split it into documents of at most one namespace.')
  }
  for (const token of parser.end()) yield* checked(composer.next(token))
  yield* checked(composer.end())
}

/** Lines that are each a JSON object; undefined for any other text. */
const jsonLines = (text: string): readonly string[] | undefined => {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  return lines.length > 1 && lines.every((line) => line.startsWith('{') && isJson(line)) ? lines : undefined
}

/** Documents of a YAML stream, a JSON object, a JSON array, or JSON lines. */
export const sourcesIn = (given: string): readonly Source[] => {
  const text = given.startsWith('\ufeff') ? given.slice(1) : given
  const found: Omit<Source, 'path'>[] = []
  for (const piece of jsonLines(text) ?? [text]) {
    const light = extractAttachments(piece)
    const spend = budget(piece.length)
    for (const document of composed(light.text)) {
      const { contents } = document
      if (contents === null || (isScalar(contents) && contents.value === null)) continue
      const within: Whole = { light, targets: targetsOf(document), use: spend }
      for (const node of isSeq(contents) ? contents.items : [contents]) found.push({ node, within })
    }
  }
  return found.map((source, n) => ({ ...source, path: found.length > 1 ? `document ${n + 1}` : '' }))
}
