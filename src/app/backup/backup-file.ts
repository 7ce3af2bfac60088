import {
  canonicalText,
  has,
  isFileName,
  isList,
  isOneOf,
  isSha256,
  isText,
  isWhole,
  type MemberTest,
  parseCanonical,
} from '../../verifier/export/member-tests.ts'

/** Name of the file that describes a backup. It is written last, so a backup without it is incomplete. */
export const BACKUP_FILE = 'backup.json'

/** Files of a backup, in the order in which they are copied. */
export const COPIED = [
  'ledger.sqlite',
  'events.sqlite',
  'subjects.sqlite',
  'keys',
  'signing-key.pem',
  'signing-key.pem.next',
] as const
export type CopiedName = (typeof COPIED)[number]

/** Statement of the content of a backup. `keys` is true if it has the keys. */
export type BackupStatement = {
  readonly schema: 'rollcall.backup/v1'
  /** Number of events. */
  readonly events: number
  /** Position of the last event, as a decimal text. */
  readonly position: string
  /** Text of the newest signed checkpoint; null if there is none. */
  readonly checkpoint: string | null
  readonly files: readonly { readonly name: CopiedName; readonly bytes: number; readonly sha256: string }[]
  readonly keys: boolean
}

const MEMBERS: Readonly<Record<keyof BackupStatement, MemberTest>> = {
  schema: isOneOf('rollcall.backup/v1'),
  events: isWhole,
  position: (value) => typeof value === 'string' && /^(?:0|[1-9]\d*)$/.test(value),
  checkpoint: (value) => value === null || isText(value),
  files: isList(
    has({
      name: (value) => isFileName(value) && (COPIED as readonly unknown[]).includes(value),
      bytes: isWhole,
      sha256: isSha256,
    }),
  ),
  keys: isOneOf(true, false),
}

/** Returns the text of a statement: canonical JSON and a line end. */
export const statementText = (statement: BackupStatement): string => canonicalText(statement)

/**
 * Returns the statement of a text, or the name of its first member that is missing or wrong. `files` must have each
 * file once, the log among them, and the keys exactly if `keys` is true.
 */
export const parseStatement = (text: string): BackupStatement | { readonly wrong: string } => {
  const statement = parseCanonical<BackupStatement>(text, MEMBERS)
  if ('wrong' in statement) return statement
  const names = new Set(statement.files.map(({ name }) => name))
  if (names.size !== statement.files.length || !names.has('events.sqlite')) return { wrong: 'files' }
  return names.has('keys') === statement.keys && names.has('subjects.sqlite') === statement.keys
    ? statement
    : { wrong: 'keys' }
}
