import { Type } from 'typebox'
import { named, type Shown, Text } from './answer.ts'
import { contextField } from './entity.ts'
import { input } from './readers/input.ts'
import type { Raw } from './readers/value.ts'

/** What this provider can do (api.md §10). */
export const OfrepConfiguration = named('OfrepConfiguration', {
  name: Text,
  capabilities: Type.Object({
    cacheInvalidation: Type.Object({
      polling: Type.Object({ enabled: Type.Boolean(), minPollingIntervalMs: Type.Integer() }),
    }),
    flagEvaluation: Type.Object({ supportedTypes: Type.Array(Text) }),
  }),
})

/** One flag as OpenFeature sees it. */
export const OfrepEvaluation = named('OfrepEvaluation', {
  key: Text,
  reason: Type.Enum(['UNKNOWN', 'DISABLED', 'TARGETING_MATCH', 'DEFAULT']),
  variant: Text,
  metadata: Type.Object({ attachment: Type.Optional(Text), segments: Type.Optional(Text) }),
  value: Type.Union([Type.Boolean(), Text]),
})
export type OfrepEvaluation = Shown<typeof OfrepEvaluation>

/** What stands in place of a value; the key is that of the flag, where one was asked for. */
export const OfrepFailure = named('OfrepFailure', {
  key: Type.Optional(Text),
  errorCode: Type.Enum(['FLAG_NOT_FOUND', 'TARGETING_KEY_MISSING', 'INVALID_CONTEXT', 'PARSE_ERROR', 'GENERAL']),
  errorDetails: Text,
})
export type OfrepFailure = Shown<typeof OfrepFailure>

export const OfrepBulk = named('OfrepBulk', { flags: Type.Array(Type.Union([OfrepEvaluation, OfrepFailure])) })
export type OfrepBulk = Shown<typeof OfrepBulk>

/** Body of both evaluations. A context that is no object has an error code of its own, so `noObject` tells it from a body that cannot be read. */
export const ofrepBody = (noObject: () => Raw) => input({ context: contextField(noObject) }, 'OfrepBody')
