import { Type } from 'typebox'
import { type EventOf, next, v1 } from './define.ts'
import { count, counts, key, object, sealed, text, time, uuid, word } from './fields.ts'

const reason = 'reason of errors.md'
const day = 'Whose key seals the addresses: all strangers of one day together.'
const span = { from: time('When the first of them was.'), to: time('When they were counted.') }

const REFUSED =
  'One refusal told singly, because it is known who it was (a token, or a service account that its cluster confirmed) or because a login or an exchange failed: an example to look into, not to be counted. At most one a minute for each identity, reason, right and namespace, ten for each token, five for each network and reason, fifty in five seconds.'
const refused = {
  reason: word('Why.', reason),
  refusedAt: time('When.'),
  route: word('The route that was asked; `""` for none.', 'path with parameters by name'),
  requestId: text(
    "The request, as in the answer's header `x-request-id` and in the service's own log.",
    'text of the caller, or a UUID',
  ),
  more: count('Refusals like it that were not told since the last that was.'),
  tokenId: Type.Optional(uuid('The token, which was good but not for this.')),
  provider: Type.Optional(
    word('The provider, of a login through OpenID Connect.', 'name of a provider in the configuration'),
  ),
  serviceAccount: Type.Optional(text('The service account of an exchange.', '`<namespace>/<name>`')),
  subject: Type.Optional(word(day, '`network-<YYYY-MM-DD>`')),
  network: Type.Optional(
    sealed('The address that it came from.', 'IPv4 address, IPv6 network of 64 bits, or `unknown`; sealed', 'subject'),
  ),
}

/** Who was turned away, and how many began to log in. One stream a batch: refusal-{day}+{id}; bounded, so that hostile traffic cannot fill the log. */
export const refusalEvents = {
  AuthenticationRefused: next(
    v1(object(REFUSED, refused)),
    object(REFUSED, {
      ...refused,
      right: Type.Optional(word('The right that was missing.', 'name of a right')),
      namespace: Type.Optional(
        key('Where it was missing: the namespace that the request named, or `*` for every one; absent: anywhere.'),
      ),
    }),
    (before) => before,
    {
      format: 2,
      downcast: ({ right: _right, namespace: _namespace, ...before }) => before,
      asBefore: ({ right, namespace }) => right === undefined && namespace === undefined,
    },
  ),
  RefusalsSummarised: v1(
    object(
      'Every refusal of a span of about a minute, each counted once, those told singly and those of logins too: the event to sum when refusals are counted.',
      {
        ...span,
        total: count('All refusals of the span.'),
        byReason: counts('How many for each reason.', reason),
        byRoute: counts(
          'How many of each route; beyond 256 routes the rest as `other`.',
          'path with parameters by name',
        ),
        subject: word(day, '`network-<YYYY-MM-DD>`'),
        networks: sealed('The ten networks with most refusals.', 'JSON object of counts by network, sealed', 'subject'),
      },
    ),
  ),
  LoginsBegun: v1(
    object(
      'Logins that were begun in a span of about a minute. Those that came back have a stream of their own; the rest was abandoned.',
      {
        ...span,
        total: count('All logins begun in the span.'),
        byWay: counts('How many of each.', 'method and provider, such as `oidc/google` or `codehost`'),
      },
    ),
  ),
}

export type RefusalEvent = EventOf<typeof refusalEvents>
