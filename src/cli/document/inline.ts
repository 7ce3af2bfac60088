import { randomUUID } from 'node:crypto'

/** A text with placeholders for its inline attachments, and the functions that restore them. */
export type Lightened = {
  readonly text: string
  readonly restore: (part: string) => string
  /** JSON behind a placeholder; undefined for any other word. */
  readonly jsonOf: (word: string) => string | undefined
}

export const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const LINE = /^[ \t]*(?:- +)*"?attachment"?: +(?=[[{])/

/**
 * Replaces each attachment that is JSON on a line of its own, as written by an export, with a placeholder. Therefore
 * size and depth of an attachment do not affect the YAML reader. A line of a text block that only looks like an
 * attachment is restored unchanged.
 */
export const extractAttachments = (source: string): Lightened => {
  const mark = `json${randomUUID().replaceAll('-', '')}n`
  const aside: string[] = []
  const lines = source.split('\n').map((line) => {
    const [head] = LINE.exec(line) ?? []
    if (head === undefined) return line
    const rest = line.slice(head.length).trimEnd()
    const json = rest.endsWith(',') ? rest.slice(0, -1) : rest
    if (!isJson(json)) return line
    aside.push(json)
    return `${head}${mark}${aside.length - 1}x${line.slice(head.length + json.length)}`
  })
  const words = new RegExp(`${mark}(\\d+)x`, 'g')
  const whole = new RegExp(`^${mark}(\\d+)x$`)
  const at = (index: string | undefined) => (index === undefined ? undefined : aside[Number(index)])
  return {
    text: lines.join('\n'),
    restore: (part) => (part.includes(mark) ? part.replace(words, (_, index: string) => at(index) ?? '') : part),
    jsonOf: (word) => at(whole.exec(word)?.[1]),
  }
}
