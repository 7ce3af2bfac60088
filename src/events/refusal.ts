import { Type } from 'typebox'
import { type EventOf, next, v1 } from './define.ts'
import { count, counts, key, object, sealed, text, time, uuid, word } from './fields.ts'

const reason = 'reason of errors.md'
const day = 'Subject whose key encrypts the addresses, shared by all refusals of one day.'
const span = { from: time('Time of the first refusal.'), to: time('Time of the count.') }

const REFUSED =
  'A single refusal, recorded as a sample for investigation, not for counting. A refusal is recorded if the caller is identified, or if a login or an exchange fails. A caller is identified by a token (also a revoked, expired or removed token), or by a service account that its cluster confirmed. The number of recorded refusals is limited to one per minute for each identity, reason, right and namespace; ten per minute for each token; five per minute for each network and reason; and fifty in five seconds.'
const refused = {
  reason: word('Reason of the refusal.', reason),
  refusedAt: time('Time of the refusal.'),
  route: word('The requested route; `""` if there is no such route.', 'path with parameters by name'),
  requestId: text(
    'Id of the request, as in the response header `x-request-id` and in the log of the service.',
    'text of the caller, or a UUID',
  ),
  more: count('Number of similar refusals since the last recorded refusal that were not recorded individually.'),
  tokenId: Type.Optional(
    uuid(
      'Id of the token of the request. A valid token lacks the required right; with the reason `credential_invalid` the token is revoked, expired or removed.',
    ),
  ),
  provider: Type.Optional(
    word('The provider, for a login through OpenID Connect.', 'name of a provider in the configuration'),
  ),
  serviceAccount: Type.Optional(text('The service account, for an exchange.', '`<namespace>/<name>`')),
  subject: Type.Optional(word(day, '`network-<YYYY-MM-DD>`')),
  network: Type.Optional(
    sealed('Network of the caller.', 'IPv4 address, IPv6 network of 64 bits, or `unknown`; sealed', 'subject'),
  ),
}

/**
 * Refused requests and the number of logins begun. One stream per batch: refusal-{day}+{id}. The volume is bounded, so
 * that hostile traffic cannot fill the log.
 */
export const refusalEvents = {
  AuthenticationRefused: next(
    v1(object(REFUSED, refused)),
    object(REFUSED, {
      ...refused,
      right: Type.Optional(word('The missing right.', 'name of a right')),
      namespace: Type.Optional(
        key(
          'Namespace of the missing right, or `*` for all namespaces; `?`: the request named a text that is no key; absent: the right is missing everywhere.',
        ),
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
      'Counts of all refusals in a period of about one minute, including those recorded individually and those of logins. Sum this event to count refusals.',
      {
        ...span,
        total: count('Number of refusals in the period.'),
        byReason: counts('Refusals by reason.', reason),
        byRoute: counts(
          'Refusals by route, for at most 256 routes; the rest as `other`.',
          'path with parameters by name',
        ),
        subject: word(day, '`network-<YYYY-MM-DD>`'),
        networks: sealed('The ten networks with most refusals.', 'JSON object of counts by network, sealed', 'subject'),
      },
    ),
  ),
  LoginsBegun: v1(
    object(
      'Number of logins that were started in a period of about one minute. A login whose callback arrived has a stream of its own. All other logins were abandoned.',
      {
        ...span,
        total: count('Number of logins that were started in the period.'),
        byWay: counts('Logins by method and provider.', 'method and provider, such as `oidc/google` or `codehost`'),
      },
    ),
  ),
}

export type RefusalEvent = EventOf<typeof refusalEvents>
