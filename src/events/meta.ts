import { type Static, Type } from 'typebox'
import { object, oneOf, pseudonym, sealed, text, time, uuid, word } from './fields.ts'
import { METHODS } from './token.ts'

/** The envelope kept with every event; `ip` and `userAgent` are personal data of `subject` and stand here in sealed form. */
export const metaSchema = object('Who wrote the event, how and why.', {
  schema: Type.Integer({ description: 'Version of the shape of `data`.', unit: 'version, from 1', personal: 'none' }),
  command: word('The command that decided the event.', 'name of a command, such as `IssueToken`'),
  actor: object('Who sent the command.', {
    kind: oneOf(
      'Who it is: a client token; somebody without a credential (a login, an exchange, a service without authentication); the service itself (first start, cleanup, history of refusals); an operator at the command line, on the data itself.',
      ['token', 'anonymous', 'system', 'operator'],
    ),
    id: Type.Optional(uuid("The token's id, for kind `token`.")),
    method: Type.Optional(oneOf('How that token was got.', METHODS)),
    user: Type.Optional(
      text("The operating system's name of the user, for kind `operator`.", 'name of a user, or `uid` and a number'),
    ),
    host: Type.Optional(text('The machine that the operator worked on.', 'name of a host')),
  }),
  instance: word('The instance of the service that wrote it.', '`<host>-<8 hexadecimal digits>`, new at each start'),
  requestId: Type.Optional(
    text(
      "The request that sent the command, as in the answer's header `x-request-id` and in the service's own log.",
      'text of the caller, or a UUID',
    ),
  ),
  correlationId: Type.Optional(
    text(
      'What belongs together: all events of one login, else of one request.',
      '`login` of the login, else `requestId`',
    ),
  ),
  causationId: Type.Optional(
    uuid(
      'In a login, the event that led to this one: `LoginReturned` to the refusal or the token, the token to `LoginCompleted`.',
    ),
  ),
  route: Type.Optional(word('The route of the request.', 'path with parameters by name')),
  reason: Type.Optional(text('Why, as the caller said in the header `Event-Reason` or with `--reason`.')),
  subject: Type.Optional(
    pseudonym(
      'Whose personal data `ip` and `userAgent` are: erasing this subject makes them unreadable.',
      '`token-<id>` of the caller, `person-…` (pseudonym) in a login, `network-<day>` for who has no credential',
    ),
  ),
  ip: Type.Optional(sealed("The caller's address.", 'IPv4 or IPv6 address', 'subject')),
  userAgent: Type.Optional(sealed("The caller's `User-Agent`.", 'first 512 characters', 'subject')),
  more: Type.Optional(
    Type.Integer({
      description:
        'How many events of the same append follow on this one: who follows the log shows none of them without the others.',
      unit: 'events, from 1; absent in the last',
      personal: 'none',
      minimum: 1,
    }),
  ),
  writtenAt: Type.Optional(
    time("What the writer's clock showed, where `time` is later: no event is earlier than the one in front of it."),
  ),
})

export type Meta = Readonly<Static<typeof metaSchema>>

/** Who acted. `id` is the authentication id of a token, `user` and `host` are those of an operator. */
export type Actor = Readonly<Meta['actor']>

/** True for an event on which others of the same append follow. In canonical JSON the name of a member stands so in no text: there its quotes are escaped. */
export const goesOn = ({ meta }: { readonly meta: string }): boolean => meta.includes('"more":')
