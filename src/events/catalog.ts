import type { Shapes } from './define.ts'
import { flagEvents } from './flag.ts'
import { loginEvents } from './login.ts'
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
} as const satisfies Readonly<Record<string, Shapes>>
