import { Type } from 'typebox'
import { named, Text } from '../answer.ts'
import { text } from '../readers/fields.ts'
import { input } from '../readers/input.ts'
import { Authentication } from '../token.ts'

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
