import { Type } from 'typebox'
import { Instant, named, type Shown, Text, Texts } from '../answer.ts'
import { text } from '../readers/fields.ts'
import { input } from '../readers/input.ts'
import { Authentication } from '../token.ts'

const sha256 = { test: (given: string) => /^[0-9a-f]{64}$/i.test(given), message: 'must be 64 hexadecimal digits' }

/** Search for a token by the SHA-256 of its text (api.md §16.10). */
export const tokenSearch = input({ sha256: text({ required: true, pattern: sha256 }) }, 'TokenSearch')

/**
 * Result of a search for a token: the record of the token and the number of its events. If no token was found: the
 * number of tokens that cannot be found by their SHA-256.
 */
export const TokenFound = named('TokenFound', {
  found: Type.Boolean(),
  authentication: Type.Optional(Authentication),
  events: Type.Optional(Type.Integer()),
  notSearchable: Type.Optional(Type.Integer()),
})
export type TokenFound = Shown<typeof TokenFound>

/** Subjects of a person, with the number of their tokens and events (api.md §16.11). */
export const SubjectsFound = named('SubjectsFound', {
  subjects: Type.Array(
    named('SubjectFound', {
      subject: Text,
      status: Type.Enum(['open', 'erased', 'lost']),
      tokens: Type.Integer(),
      events: Type.Integer(),
      first: Instant,
      last: Instant,
    }),
  ),
})
export type SubjectsFound = Shown<typeof SubjectsFound>
export type SubjectFound = SubjectsFound['subjects'][number]

/** Request to erase a subject, and its result (api.md §16.18). */
export const erasureRequest = input(
  { subject: text({ required: true, max: 200, control: false }), reason: text({ required: true, max: 500 }) },
  'ErasureRequest',
)
export const SubjectErased = named('SubjectErased', { subject: Text, keys: Texts, networks: Texts, position: Text })
export type SubjectErased = Shown<typeof SubjectErased>

/** Search for the live sessions of a person by email address or login name (api.md §5.4 A20). */
export const personSearch = input(
  {
    person: text({ required: true, trim: true, max: 320, control: false, stored: false }),
    pageToken: text({ stored: false }),
  },
  'PersonSearch',
)

/** Live sessions of a person, newest first by method, and the number of live sessions examined for this page. */
export const SessionsFound = named('SessionsFound', {
  authentications: Type.Array(Authentication),
  examined: Type.Integer(),
  nextPageToken: Text,
})
