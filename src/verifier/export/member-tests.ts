import { canonical } from '../../base/canonical.ts'

type Members = Readonly<Record<string, unknown>>
/** Test of a value in a JSON document. */
export type MemberTest = (value: unknown) => boolean

export const isText: MemberTest = (value) => typeof value === 'string'
export const isWhole: MemberTest = (value) => Number.isSafeInteger(value) && (value as number) >= 0
export const isObject = (value: unknown): value is Members =>
  value !== null && typeof value === 'object' && !Array.isArray(value)
export const isList =
  (test: MemberTest): MemberTest =>
  (value) =>
    Array.isArray(value) && value.every(test)
export const isOneOf =
  (...values: readonly unknown[]): MemberTest =>
  (value) =>
    values.includes(value)
export const optional =
  (test: MemberTest): MemberTest =>
  (value) =>
    value === undefined || test(value)
export const has =
  (members: Readonly<Record<string, MemberTest>>): MemberTest =>
  (value) =>
    isObject(value) && Object.entries(members).every(([name, test]) => test(value[name]))

/** Returns the members of a JSON object; undefined if the text is something else. */
export const membersIn = (json: string): Members | undefined => {
  try {
    const value: unknown = JSON.parse(json)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Name of a file in the folder of the document. */
export const isFileName: MemberTest = (value) =>
  typeof value === 'string' && /^[^/\\\0]+$/.test(value) && !/^\.\.?$/.test(value)
export const isSha256: MemberTest = (value) => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)

/** Returns the text of a document: canonical JSON and a line end. */
export const canonicalText = (document: object): string => `${canonical(document)}\n`

/** Returns the document of a canonical text, or the name of its first member that is missing or wrong. */
export const parseCanonical = <T extends object>(
  text: string,
  members: Readonly<Record<keyof T & string, MemberTest>>,
): T | { readonly wrong: string } => {
  const value = membersIn(text)
  if (value === undefined) return { wrong: 'JSON' }
  const wrong = Object.entries<MemberTest>(members).find(([name, test]) => !test(value[name]))?.[0]
  if (wrong !== undefined) return { wrong }
  return canonicalText(value) === text ? (value as T) : { wrong: 'canonical form' }
}
