import { isKey } from '../access/grants.ts'
import { choice, integer, optional, text } from './readers/fields.ts'
import { query } from './readers/input.ts'
import { atMoment } from './readers/moment.ts'

/** Key of a flag, segment or namespace (api.md §7.3). */
export const key = text({
  required: true,
  max: 255,
  pattern: { test: isKey, message: 'contains invalid characters' },
})
export const name = text({ required: true, max: 255 })
export const description = text({ max: 10_000 })

/** Query of a single resource, and of a list (api.md §7.7). */
export const single = query({ at: atMoment })
const page = {
  limit: integer({ min: 0, minMessage: 'must not be negative' }),
  offset: integer({ min: 0, minMessage: 'must not be negative' }),
  pageToken: text({ stored: false }),
  at: atMoment,
}
export const paged = query(page)

/** Sort order of a list. */
export const order = choice({ asc: 0, desc: 1 }, 'asc')
const sorts = { createdAt: 0, name: 1, key: 2, changedAt: 3 } as const
/** Query of a list of namespaces, flags or segments. `q` matches a part of the key or name, regardless of case. */
export const searched = {
  ...page,
  q: text({ stored: false }),
  sort: choice(sorts, 'createdAt'),
  order,
}
/** Query of a list of flags, which can also be sorted by the last evaluation. */
export const searchedFlags = { ...searched, sort: choice({ ...sorts, lastEvaluatedAt: 4 }, 'createdAt') }

/** Query of a single flag or namespace; `include=usage` adds its last use. */
export const singleWithUsage = query({ include: optional(choice({ usage: 0 })), at: atMoment })
