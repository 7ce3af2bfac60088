import { accessEvents } from './access.ts'
import { FIRST_FORMAT, type Shape, type Shapes } from './define.ts'
import { flagEvents } from './flag.ts'
import { historyEvents } from './history.ts'
import { instanceEvents } from './instance.ts'
import { keysEvents } from './keys.ts'
import { loginEvents } from './login.ts'
import { membershipEvents } from './membership.ts'
import { namespaceEvents } from './namespace.ts'
import { refusalEvents } from './refusal.ts'
import { segmentEvents } from './segment.ts'
import { tokenEvents } from './token.ts'

/** Every event there is: category → its shapes. Documentation, export and the frozen samples go by this list. */
export const catalog = {
  token: tokenEvents,
  login: loginEvents,
  refusal: refusalEvents,
  namespace: namespaceEvents,
  flag: flagEvents,
  segment: segmentEvents,
  keys: keysEvents,
  history: historyEvents,
  access: accessEvents,
  instance: { ...instanceEvents, ...membershipEvents },
} as const satisfies Readonly<Record<string, Shapes>>

/** The latest format of the history that this build reads, and writes once every instance reads it. */
export const FORMAT: number = Object.values<Shapes>(catalog)
  .flatMap((shapes) => Object.values<Shape>(shapes))
  .reduce((latest, { format }) => Math.max(latest, format), FIRST_FORMAT)

/** What the streams of each category are called, and what they tell. */
export const streams: Readonly<Record<keyof typeof catalog, { readonly name: string; readonly tells: string }>> = {
  token: { name: 'token-<id>', tells: 'The life of one client token, whichever way issued it.' },
  login: {
    name: 'login-<digest of state>',
    tells:
      'One login, from the moment that the browser comes back; one that was only begun has no stream. What would let somebody finish it is never kept.',
  },
  refusal: {
    name: 'refusal-<YYYY-MM-DD>+<id>',
    tells:
      'Who was turned away, and how many began to log in, in batches: bounded, so that hostile traffic cannot fill the log. A process that is killed takes up to a minute of counts with it.',
  },
  namespace: { name: 'namespace-<key>', tells: 'The lives of one namespace, one after the other.' },
  flag: {
    name: 'flag-<namespace>+<key>',
    tells: 'The life of one flag with its variants, rules, distributions and rollouts.',
  },
  segment: { name: 'segment-<namespace>+<key>', tells: 'The life of one segment with its constraints.' },
  keys: { name: 'keys-main', tells: "The service's own keys, where they were lost and it went on without." },
  history: { name: 'history-main', tells: 'The history itself, where it was damaged and the service went on with it.' },
  access: {
    name: 'access-main',
    tells:
      'Which access is configured: whether a credential is needed, what roles mean, what rules give logins and exchanges. Told at a start, when it is another than before.',
  },
  instance: {
    name: 'instance-<instance>',
    tells:
      'Actions of one run of the service on shared data. `instance-main` is the cluster membership: the running instances, and the format each reads.',
  },
}
