import { randomUUID } from 'node:crypto'
import { Composer, CST, isAlias, isNode, isScalar, isSeq, Lexer, LineCounter, Parser, visit } from 'yaml'
import { fail } from '../../base/failure.ts'
import { isJson } from '../../contract/flags/variant.ts'

/** Maximum depth of nesting. */
export const MAX_DEPTH = 100
/** Maximum YAML tokens of one YAML stream or JSON value; reading them takes about half a gigabyte. */
const MAX_LEXEMES = 2_000_000
/** Maximum expansion by aliases, in nodes and characters. */
const MAX_ADDED = 10_000_000

/** Receives the place of each member that is ignored, and the message of each part that cannot be read. */
export type Problems = {
  readonly unknown: (place: string) => void
  readonly wrong: (message: string) => void
}
/** A value of a document, its path, and the node that marks its line in the file. */
export type Source = {
  readonly path: string
  readonly mark: unknown
  readonly node: unknown
  readonly within: Whole
}
type Whole = ReturnType<typeof wholeOf>

const LONGEST_PATH = 300

/** Line of a value in its file. */
export const lineOf = ({ within, mark }: Source): number =>
  isNode(mark) && mark.range ? within.lines.linePos(mark.range[0]).line : 1

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

/**
 * State that all values of a file share. Each attachment that is JSON on a line of its own, as written by an export, is a
 * placeholder in `text`. Therefore size and depth of an attachment do not affect the YAML reader. `restore` puts the
 * attachments back, also into a line of a text block that only looks like one.
 */
const wholeOf = (file: string, given: string, problems: Problems) => {
  const mark = `json${randomUUID().replaceAll('-', '')}n`
  const aside: string[] = []
  const text = given.replace(
    /^([ \t]*(?:- +)*"?attachment"?: +)([[{][^\n]*)/gm,
    (line: string, head: string, rest: string) => {
      const json = rest.trimEnd().replace(/,$/, '')
      return isJson(json) ? `${head}${mark}${aside.push(json) - 1}x${rest.slice(json.length)}` : line
    },
  )
  const words = new RegExp(`${mark}(\\d+)x`, 'g')
  const restore = (part: string) => part.replace(words, (_, index: string) => aside[Number(index)]!)
  let left = MAX_ADDED + 4 * given.length
  /** Limits the expansion of the file, because aliases can make a short text endless. */
  const use = (cost: number): void => {
    left -= cost
    if (left < 0) broken(file, 'The aliases of the document expand to too much data.')
  }
  /** Target of each alias: the last anchor with its name before it. */
  const targets = new Map<unknown, unknown>()
  return { file, problems, text, restore, use, targets, lines: new LineCounter() }
}

/** Tokens of a text, whose depth and number are limited while it is read. JSON values in a row are documents. */
const tokensIn = function* ({ file, text, lines }: Whole): Generator<CST.Token> {
  lines.addNewLine(0)
  const parser = new Parser(lines.addNewLine)
  let count = 0
  for (const lexeme of new Lexer().lex(text)) {
    const [document, open, inner] = parser.stack
    const value = open ?? (document?.type === 'document' ? document.value : undefined)
    const isComplete = !document || (!inner && value?.type === 'flow-collection' && value.end.length > 0)
    if (isComplete && (lexeme === '{' || lexeme === '[')) {
      count = 0
      yield* parser.end()
      yield* parser.next(CST.DOCUMENT)
    }
    yield* parser.next(lexeme)
    if (parser.stack.length > MAX_DEPTH)
      wrong(`${file}:${lines.lineStarts.length}`, `is nested deeper than ${MAX_DEPTH} levels.`)
    if (++count > MAX_LEXEMES)
      broken(file, 'The document is too large: split it into documents of at most one namespace.')
  }
  yield* parser.end()
}

/**
 * Documents of a YAML stream, or of JSON objects and lists of objects, one after another. A byte order mark at the
 * start of a line is skipped, because files that are joined have one in front of each document.
 */
export const sourcesIn = (file: string, given: string, problems: Problems): readonly Source[] => {
  const within = wholeOf(file, given.replace(/^\ufeff/gm, ''), problems)
  const { lines, targets } = within
  const composer = new Composer({ uniqueKeys: false, prettyErrors: false })
  const found: Omit<Source, 'path'>[] = []
  for (const document of composer.compose(tokensIn(within))) {
    const { contents, errors } = document
    if (errors[0]) wrong(`${file}:${lines.linePos(errors[0].pos[0]).line}`, `is not valid YAML: ${errors[0].message}`)
    if (contents === null || (isScalar(contents) && contents.value === null)) continue
    const anchors = new Map<string, unknown>()
    visit(document, {
      Node: (_, node) => {
        if (isAlias(node)) targets.set(node, anchors.get(node.source))
        else if (node.anchor !== undefined) anchors.set(node.anchor, node)
      },
    })
    for (const node of isSeq(contents) ? contents.items : [contents]) found.push({ node, within, mark: node })
  }
  return found.map((source, n) => ({ ...source, path: found.length > 1 ? `document ${n + 1}` : '' }))
}
