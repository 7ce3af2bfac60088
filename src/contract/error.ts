import { type TSchema, Type } from 'typebox'
import { type Reason, refusals } from '../base/errors.ts'
import { named, type Shown, Text, TextMap } from './answer.ts'

const structOf = <S extends TSchema>(value: S) =>
  Type.Object({ '@type': Type.Literal('type.googleapis.com/google.protobuf.Struct'), value })
const errorInfo = { domain: Type.Literal('rollcall'), metadata: TextMap }

/** An error: google.rpc.Status with exactly one detail (api.md §2.1). */
export const ErrorAnswer = named('Error', {
  code: Type.Integer({ description: 'gRPC status code' }),
  message: Text,
  details: Type.Array(
    structOf(
      Type.Object({
        reason: Type.Enum(Object.keys(refusals) as Reason[]),
        ...errorInfo,
        fieldViolations: Type.Optional(Type.Array(Type.Object({ field: Text, description: Text }))),
      }),
    ),
    { minItems: 1, maxItems: 1 },
  ),
})
export type ErrorAnswer = Shown<typeof ErrorAnswer>

/** Detail that replaces the secret when the same request is answered again (api.md §4). */
export const SecretShown = structOf(Type.Object({ reason: Type.Literal('secret_already_shown'), ...errorInfo }))
export type SecretShown = Shown<typeof SecretShown>
