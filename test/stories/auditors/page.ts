import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'

/** Root of the project. */
export const root = resolve(import.meta.dirname, '../../../..')

/** Text of the guide for auditors. */
export const page = readFileSync(resolve(root, 'docs/guides/answering-auditors.md'), 'utf8')

const SECTION = /^### (Q\d+): .*\n([^]*?)(?=^##|(?![^]))/gm
const sections = new Map([...page.matchAll(SECTION)].map(([, question, text]) => [question!, text!]))

/** Numbers of the questions on the page, in its order. */
export const questions: readonly string[] = [...sections.keys()]

/** Criteria that ask for the answer to a question. */
export const criteriaOf = (question: string): string =>
  /^Required by: (.+)$/m.exec(sections.get(question) ?? '')?.[1] ?? ''

/** Command that creates the token of the auditor. */
export const tokenCommand = /\$\((rollcall token create [^)]*)\)/.exec(page)![1]!

/** Commands of a question, with the texts of this history in place of the examples of the page. */
export const commandsOf = (question: string, texts: Readonly<Record<string, string>>): readonly string[] => {
  const blocks = [...(sections.get(question) ?? '').matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, block]) => block!)
  const commands = blocks.flatMap((block) => block.split('\n').filter((line) => line !== ''))
  return commands.map((command) =>
    Object.entries(texts).reduce((text, [example, real]) => text.replaceAll(example, real), command),
  )
}

/** Words of a command for `rollcall`, and the file that receives its output. */
export const parsed = (command: string): { readonly words: readonly string[]; readonly output: string | undefined } => {
  const [, line = '', output] = /^rollcall (.*?)(?: > (\S+))?$/.exec(command)!
  const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word!)
  return { words, output }
}
