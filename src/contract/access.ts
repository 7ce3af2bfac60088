import { Type } from 'typebox'
import { Id, Instant, named, pageFields, type Shown, Text, Texts } from './answer.ts'
import { GrantShown, rightName } from './grants.ts'
import { choice, integer, optional, text } from './readers/fields.ts'
import { query } from './readers/input.ts'
import { atMoment } from './readers/moment.ts'

/**
 * Rights in one namespace. `*` as the namespace stands for all namespaces and the deployment, `*` as a right for all
 * rights.
 */
const PlaceShown = named('AccessPlace', { namespaceKey: Text, rights: Texts })

/** Access of the token in use, by namespace (api.md §5.8). */
export const Access = named('Access', {
  authenticationId: Type.Optional(Id),
  full: Type.Boolean(),
  publishable: Type.Boolean(),
  namespaceKey: Type.Optional(Text),
  places: Type.Array(PlaceShown),
  grants: Type.Optional(Type.Array(GrantShown)),
  expiresAt: Type.Optional(Instant),
  reasonRequired: Type.Optional(Texts),
})
export type Access = Shown<typeof Access>

/** Reasons for an access decision. */
const ACCESS_REASONS = [
  'full_reach',
  'namespaced',
  'granted',
  'open',
  'not_granted',
  'token_expired',
  'token_deleted',
  'token_unknown',
] as const
export type AccessReason = (typeof ACCESS_REASONS)[number]

/** First grant that gives a right: its index in the list, and its content. */
const Because = named('AccessBecause', {
  grant: Type.Integer(),
  namespaceKey: Text,
  role: Type.Optional(Text),
  rule: Type.Optional(Text),
})

export const accessQuery = query({
  right: rightName,
  namespaceKey: text({ trim: true, stored: false }),
  id: text({ stored: false }),
  at: atMoment,
})
export const AccessChecked = named('AccessChecked', {
  allowed: Type.Boolean(),
  right: Text,
  namespaceKey: Text,
  reason: Type.Enum([...ACCESS_REASONS]),
  because: Type.Optional(Because),
})
export type AccessChecked = Shown<typeof AccessChecked>

/** Roles and rights of this deployment. */
export const Roles = named('Roles', {
  roles: Type.Array(
    named('Role', {
      name: Text,
      description: Text,
      builtIn: Type.Boolean(),
      rights: Texts,
      /** Namespaces in which the caller can issue a token with this role; `*` stands for all namespaces. */
      grantable: Texts,
    }),
  ),
  rights: Type.Array(named('Right', { name: Text, level: Type.Enum(['namespace', 'deployment', 'any']) })),
})
export type Roles = Shown<typeof Roles>

/** Query of the access review: tokens that have a right in a namespace at a moment (api.md §5.8). */
export const reviewQuery = query({
  right: rightName,
  namespaceKey: text({ trim: true, stored: false }),
  limit: integer({ min: 0, minMessage: 'must not be negative' }),
  pageToken: text({ stored: false }),
  format: optional(choice({ json: 0, csv: 1 })),
  at: atMoment,
})
export const AccessReview = named('AccessReview', {
  /** Time and log position of the requested moment. */
  at: Instant,
  position: Text,
  /** True if the service required no credential at that moment. */
  anonymous: Type.Boolean(),
  entries: Type.Array(
    named('AccessEntry', {
      authenticationId: Id,
      method: Text,
      name: Type.Optional(Text),
      issuedBy: Type.Optional(Id),
      reason: Type.Enum([...ACCESS_REASONS]),
      because: Type.Optional(Because),
    }),
  ),
  ...pageFields,
  /** False if more items match than `totalCount` states. */
  totalCountExact: Type.Optional(Type.Boolean()),
})
export type AccessReview = Shown<typeof AccessReview>
