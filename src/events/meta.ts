import { type Static, Type } from 'typebox'
import { object, oneOf, pseudonym, sealed, text, time, uuid, word } from './fields.ts'
import { METHODS } from './token.ts'

/** Metadata stored with every event. `ip` and `userAgent` are personal data of `subject` and are stored sealed. */
export const metaSchema = object('Origin of the event: the actor, the request and the writing instance.', {
  schema: Type.Integer({ description: 'Version of the schema of `data`.', unit: 'version, from 1', personal: 'none' }),
  command: word('The command that produced the event.', 'name of a command, such as `IssueToken`'),
  actor: object('The sender of the command.', {
    kind: oneOf(
      '`token`: a client token. `anonymous`: a request without a credential (a login, an exchange, a service without authentication). `system`: the service itself (first start, cleanup, recording of refusals). `operator`: an operator on the command line, with direct access to the data.',
      ['token', 'anonymous', 'system', 'operator'],
    ),
    id: Type.Optional(uuid('Id of the token, for kind `token`.')),
    method: Type.Optional(oneOf('Method by which the token was issued.', METHODS)),
    user: Type.Optional(
      text('User name in the operating system, for kind `operator`.', 'name of a user, or `uid` and a number'),
    ),
    host: Type.Optional(text('Host on which the operator ran the command.', 'name of a host')),
  }),
  instance: word('The service instance that wrote the event.', '`<host>-<8 hexadecimal digits>`, new at each start'),
  requestId: Type.Optional(
    text(
      'Id of the request, as in the response header `x-request-id` and in the log of the service.',
      'text of the caller, or a UUID',
    ),
  ),
  correlationId: Type.Optional(
    text(
      'Identifier that is equal in related events: in all events of one login, or of one request.',
      '`login` of the login, else `requestId`',
    ),
  ),
  causationId: Type.Optional(
    uuid(
      'In a login, the id of the event that caused this one: `LoginReturned` causes the refusal or the token, and the token causes `LoginCompleted`.',
    ),
  ),
  traceId: Type.Optional(
    text(
      'Id of the trace of the request (W3C Trace Context), as in the log of the service and in the tracing tool.',
      '32 hexadecimal digits',
    ),
  ),
  route: Type.Optional(word('The route of the request.', 'path with parameters by name')),
  reason: Type.Optional(text('Reason given by the caller in the header `Event-Reason` or with `--reason`.')),
  subject: Type.Optional(
    pseudonym(
      'Subject of the personal data in `ip` and `userAgent`. Erasing the subject makes them unreadable.',
      '`token-<id>` of the caller, `person-…` (pseudonym) in a login, `network-<day>` without a credential',
    ),
  ),
  ip: Type.Optional(sealed('IP address of the caller.', 'IPv4 or IPv6 address', 'subject')),
  userAgent: Type.Optional(sealed('`User-Agent` of the caller.', 'first 512 characters', 'subject')),
  more: Type.Optional(
    Type.Integer({
      description:
        'Number of events of the same append that follow this event. A reader of the log applies all events of an append together.',
      unit: 'events, from 1; absent in the last',
      personal: 'none',
      minimum: 1,
    }),
  ),
  writtenAt: Type.Optional(
    time("Time of the writer's clock, if it is earlier than `time`, because `time` never decreases."),
  ),
})

export type Meta = Readonly<Static<typeof metaSchema>>

/** Sender of the command. `id` is the id of a token, `user` and `host` describe an operator. */
export type Actor = Readonly<Meta['actor']>

/**
 * Returns true if an event is not the last event of its append. The text search is exact, because quotes inside JSON
 * texts are escaped.
 */
export const goesOn = ({ meta }: { readonly meta: string }): boolean => meta.includes('"more":')
