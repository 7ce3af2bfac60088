import { randomUUID } from 'node:crypto'

/** A text whose inline attachments stand aside, and how any part of it reads with them back in place. */
export type Lightened = {
  readonly text: string
  readonly restore: (part: string) => string
  /** The JSON that a word stands for, if it stands for one. */
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
 * Puts a word in place of each attachment that is JSON on a line of its own, as an export writes them. The reader of
 * YAML never sees it, however large or deep it is. A line in a block of text that only looks so is restored as it was.
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
