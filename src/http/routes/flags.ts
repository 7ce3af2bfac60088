import { refuse } from '../../base/errors.ts'
import { flag } from '../../commands/flag/flag.ts'
import { noFlag } from '../../commands/flag/state.ts'
import { Nothing } from '../../contract/answer.ts'
import { partialRules } from '../../contract/answers.ts'
import {
  Flag,
  FlagList,
  FlagWithUsage,
  flagQuery,
  flagUpdate,
  type ListedFlag,
  newFlag,
} from '../../contract/flags/flag.ts'
import type { ReadBy } from '../../contract/readers/input.ts'
import { singleWithUsage } from '../../contract/resource.ts'
import { type FlagDoc, usesOf } from '../../projections/flags.ts'
import { createsOnly } from '../commands/command-context.ts'
import { flagWriter, namespacedRoute, namespaceOf, takeDocument, viewOf } from '../commands/resource-routes.ts'
import { evaluationHours, fetchHour, usageOf } from '../lists/last-evaluation.ts'
import { type Looked, listPage } from '../lists/list-page.ts'
import { flagJson, rolloutJson } from '../present/flag.ts'
import { lastChanges } from '../present/last-change.ts'
import { allRoutes } from '../route/route.ts'
import type { FlagMount, FlagService } from '../services/flags.ts'
import { ok } from '../wire/reply.ts'

const HOUR_MS = 3_600_000

type Filters = Pick<
  ReadBy<typeof flagQuery>,
  'type' | 'enabled' | 'segmentKey' | 'evaluatedSince' | 'notEvaluatedSince'
>

/** True if an evaluation in this hour may have been at or after the instant. */
const isSince = (hour: string | undefined, instant: string): boolean =>
  hour !== undefined && Date.parse(hour) + HOUR_MS > Date.parse(instant)

/**
 * Filter of a list of flags (api.md §7.7), given a flag and the hour of its last evaluation; undefined if it keeps all
 * flags. `fetched` returns the hour in which the snapshot of their namespace was last fetched.
 */
const flagFilter = (
  { type, enabled, segmentKey, evaluatedSince, notEvaluatedSince }: Filters,
  fetched: () => string | undefined,
) => {
  const isAny = [type, enabled, evaluatedSince, notEvaluatedSince].every((filter) => filter === undefined)
  if (isAny && segmentKey === '') return undefined
  return (doc: FlagDoc, hour: string | undefined): boolean =>
    (type === undefined || doc.type === type) &&
    (enabled === undefined || doc.enabled === enabled) &&
    (segmentKey === '' || usesOf(doc, segmentKey).length > 0) &&
    (evaluatedSince === undefined || isSince(hour, evaluatedSince)) &&
    (notEvaluatedSince === undefined ||
      (Date.parse(doc.createdAt) <= Date.parse(notEvaluatedSince) &&
        !isSince(hour, notEvaluatedSince) &&
        !isSince(fetched(), notEvaluatedSince)))
}

const tag = 'Flags'

type Show = (doc: FlagDoc) => ListedFlag | Promise<ListedFlag>

/** A flag with its last change, its rollouts, the number of its rules, and the rules with shares below 100 %. */
const withTargeting = (service: FlagService): Show => {
  const lastChange = lastChanges(service)
  return async (doc) => {
    const partial = partialRules(doc.rules)
    return {
      ...flagJson(doc),
      ...(await lastChange(doc)),
      rollouts: doc.rollouts.map((rollout) => rolloutJson(doc, rollout)),
      ruleCount: doc.rules.length,
      ...(partial.length > 0 && { partialRules: partial }),
    }
  }
}

/** Adds the hour of the last evaluation of each flag; `prepare` reads the hours of the next flags. */
const withUsage = (service: FlagService, show: Show) => {
  let hourOf: (doc: FlagDoc) => string | undefined = () => undefined
  return {
    prepare: async (view: Looked, docs: readonly FlagDoc[]) => {
      hourOf = await evaluationHours(service, view, docs)
    },
    show: async (doc: FlagDoc): Promise<ListedFlag> => {
      const lastEvaluatedAt = hourOf(doc)
      return { ...(await show(doc)), ...(lastEvaluatedAt !== undefined && { lastEvaluatedAt }) }
    },
  }
}

/** Adds the parts of a flag that use a segment. */
const withUses =
  (show: Show, segment: string): Show =>
  async (doc) => ({ ...(await show(doc)), segmentUses: usesOf(doc, segment) })

const listFlags: FlagMount = (app, service) =>
  namespacedRoute(app, {
    method: 'GET',
    url: '/flags',
    tag,
    right: 'flag.read',
    summary: 'List the flags of a namespace, oldest first. By default the answer contains all flags.',
    query: flagQuery,
    errors: ['invalid_page_token', 'invalid_at'],
    answer: FlagList,
    run: (call) => {
      const { type, enabled, segmentKey, evaluatedSince, notEvaluatedSince, include, sort } = call.query
      const isByLastUse = sort === 'lastEvaluatedAt' || (evaluatedSince ?? notEvaluatedSince) !== undefined
      const fields: Show = include === 'targeting' ? withTargeting(service) : flagJson
      let fetchedAt: string | undefined
      const used = include === undefined ? undefined : withUsage(service, fields)
      const show = used?.show ?? fields
      return listPage(service, call, 'flags', namespaceOf(call), {
        filters: [type ?? '', enabled ?? '', segmentKey, evaluatedSince ?? '', notEvaluatedSince ?? ''],
        keep: flagFilter(call.query, () => fetchedAt),
        lastUses: isByLastUse
          ? async (view, all) => {
              if (notEvaluatedSince !== undefined) fetchedAt = await fetchHour(service, view, namespaceOf(call))
              return evaluationHours(service, view, all, true)
            }
          : undefined,
        prepare: used?.prepare,
        show: () => (segmentKey === '' ? show : withUses(show, segmentKey)),
      })
    },
  })

const createFlag: FlagMount = (app, service) => {
  const { reservations, flagStore } = service
  const { respondWith } = flagWriter(service)
  namespacedRoute(app, {
    method: 'POST',
    url: '/flags',
    tag,
    right: 'flag.create',
    summary: 'Create a flag.',
    writes: 'unless-read-only',
    errors: ['not_found', 'not_unique', 'quota_exceeded', 'revision_moved'],
    body: newFlag,
    answer: Flag,
    run: (call) => {
      const { body } = call
      const { key, metadata = {} } = body
      return respondWith(
        call,
        key,
        async ({ namespace, incarnation }, context) => {
          if (incarnation === '') refuse('not_found', `namespace "${namespace}" not found`)
          createsOnly(context, flagStore.flag(namespace, key)?.changes)
          return reservations.createFlag({ ...body, namespace, metadata }, context)
        },
        flagJson,
      )
    },
  })
}

const getFlag: FlagMount = (app, service) =>
  namespacedRoute(app, {
    method: 'GET',
    url: '/flags/:key',
    tag,
    right: 'flag.read',
    summary: 'Get a flag with its variants.',
    query: singleWithUsage,
    errors: ['not_found', 'invalid_at'],
    answer: FlagWithUsage,
    run: async (call) => {
      const [namespace, key] = [namespaceOf(call), call.params['key']!]
      await takeDocument(service, call, 'flags', key)
      const view = await viewOf(service, call)
      const row = await view.flag(namespace, key)
      if (!row) return noFlag({ namespace, key, incarnation: '' })
      const usage = call.query.include && (await usageOf(service, view, row.doc))
      return ok({ ...flagJson(row.doc), ...usage }, row.changes)
    },
  })

const updateFlag: FlagMount = (app, service) => {
  const { execute } = service
  const { respondWith } = flagWriter(service)
  namespacedRoute(app, {
    method: 'PUT',
    url: '/flags/:key',
    tag,
    right: 'flag.update',
    summary: 'Replace the fields of a flag. If the request contains no metadata, the flag keeps its metadata.',
    writes: 'unless-read-only',
    errors: ['not_found', 'quota_exceeded', 'revision_moved'],
    body: flagUpdate,
    answer: Flag,
    run: (call) =>
      respondWith(
        call,
        call.params['key']!,
        (of, context) => execute(flag, `${of.namespace}+${of.key}`, 'UpdateFlag', { ...of, ...call.body }, context),
        flagJson,
      ),
  })
}

const deleteFlag: FlagMount = (app, service) => {
  const { reservations } = service
  const { respondEmpty } = flagWriter(service)
  namespacedRoute(app, {
    method: 'DELETE',
    url: '/flags/:key',
    tag,
    right: 'flag.delete',
    summary: 'Delete a flag with its variants, rules and rollouts.',
    writes: 'unless-read-only',
    errors: ['revision_moved'],
    answer: Nothing,
    run: (call) =>
      respondEmpty(call, call.params['key']!, (of, context) =>
        reservations.deleteFlag(of, { ...context, needsEffect: true }),
      ),
  })
}

/** Flags (api.md §7). Variants, rules and rollouts have their own routes. */
export const flagsRoutes = allRoutes(listFlags, createFlag, getFlag, updateFlag, deleteFlag)
