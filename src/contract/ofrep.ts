import { Type } from 'typebox'
import { named, type Shown, Text } from './answer.ts'
import { contextField } from './entity.ts'
import { absent, text } from './readers/fields.ts'
import { input, query } from './readers/input.ts'
import type { Raw } from './readers/value.ts'

/** Capabilities of this OFREP provider (api.md §10). */
export const OfrepConfiguration = named('OfrepConfiguration', {
  name: Text,
  capabilities: Type.Object({
    cacheInvalidation: Type.Object({
      polling: Type.Object({ enabled: Type.Boolean(), minPollingIntervalMs: Type.Integer() }),
      eventStreams: Type.Object({ enabled: Type.Boolean(), types: Type.Array(Text) }),
    }),
    flagEvaluation: Type.Object({ supportedTypes: Type.Array(Text) }),
  }),
})

/** Evaluation of one flag in OFREP form. */
export const OfrepEvaluation = named('OfrepEvaluation', {
  key: Text,
  reason: Type.Enum(['UNKNOWN', 'DISABLED', 'TARGETING_MATCH', 'DEFAULT']),
  variant: Text,
  metadata: Type.Object({ attachment: Type.Optional(Text), segments: Type.Optional(Text) }),
  value: Type.Union([Type.Boolean(), Text]),
})
export type OfrepEvaluation = Shown<typeof OfrepEvaluation>

/** Failed evaluation. `key` is present for a request about one flag. */
export const OfrepFailure = named('OfrepFailure', {
  key: Type.Optional(Text),
  errorCode: Type.Enum(['FLAG_NOT_FOUND', 'TARGETING_KEY_MISSING', 'INVALID_CONTEXT', 'PARSE_ERROR', 'GENERAL']),
  errorDetails: Text,
})
export type OfrepFailure = Shown<typeof OfrepFailure>

/** Address of a stream of events, relative to the address of the service. */
const OfrepEventStream = named('OfrepEventStream', {
  type: Type.Literal('sse'),
  endpoint: Type.Object({ requestUri: Text }),
  inactivityDelaySec: Type.Integer(),
})

export const OfrepBulk = named('OfrepBulk', {
  flags: Type.Array(Type.Union([OfrepEvaluation, OfrepFailure])),
  eventStreams: Type.Optional(Type.Array(OfrepEventStream)),
})
export type OfrepBulk = Shown<typeof OfrepBulk>

/**
 * Body of both evaluation routes. `noObject` refuses a context that is not an object, because OFREP has an error code
 * of its own for it.
 */
export const ofrepBody = (noObject: () => Raw) => input({ context: contextField(noObject) }, 'OfrepBody')

/** Body of a bulk request. The context may name the flags, as text or as a list of texts. */
export const ofrepBulkBody = (noObject: () => Raw, noNames: () => never) => {
  const field = contextField(noObject)
  const read: typeof field.read = (value, name) => {
    const names = typeof value === 'object' && value !== null && 'flags' in value ? value.flags : undefined
    if (typeof names !== 'string' && !absent(names) && !Array.isArray(names)) noNames()
    return field.read(value, name)
  }
  return input({ context: { ...field, read } }, 'OfrepBulkBody')
}

const state = text({ stored: false })

/** Query of a bulk request: the state that an event stream announced. */
export const ofrepState = query({ flagConfigEtag: state, flagConfigLastModified: state })

/** Query of an event stream: its namespace, and the ticket of a client that sends no header. */
export const ofrepEvents = query({ namespace: state, ticket: state })

/** Data of an event of a stream, as JSON. `lastModified` is in Unix seconds. */
export const OfrepEvents = named('OfrepEvents', {
  type: Type.Literal('refetchEvaluation'),
  etag: Text,
  lastModified: Type.Optional(Type.Integer()),
})
export type OfrepEvents = Shown<typeof OfrepEvents>
