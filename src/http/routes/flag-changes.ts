import { refuse } from '../../base/errors.ts'
import type { FlagChange } from '../../commands/flag/flag.ts'
import { partialRules, partialRulesInWords } from '../../contract/answers.ts'
import { reasonNames, type TrialAnswer } from '../../contract/evaluation.ts'
import { ChangedFlag, type FlagChangeAsked, flagChanges } from '../../contract/flags/flag.ts'
import { explainedDryRunQuery, type TrialEntity } from '../../contract/readers/changes.ts'
import { compileFlag } from '../../evaluation/compile.ts'
import { evaluateBoolean, evaluateVariant } from '../../evaluation/evaluate.ts'
import type { FlagInput, SegmentInput } from '../../evaluation/flag.ts'
import type { Trace } from '../../evaluation/trace.ts'
import type { FlagDoc } from '../../projections/flags.ts'
import { insistOnDryRun } from '../commands/dry-run.ts'
import { flagWriter, namespacedRoute, namespaceOf, newId } from '../commands/resource-routes.ts'
import { type TemporaryIds, temporaryIds } from '../commands/temporary-ids.ts'
import { showsSegments } from '../evaluation/request.ts'
import { shownTrace } from '../evaluation/trace.ts'
import { flagJson, rolloutJson, ruleJson } from '../present/flag.ts'
import type { FlagMount } from '../services/flags.ts'

type Trial = {
  readonly entity: NonNullable<TrialEntity>
  /** Whether the answers contain their steps. */
  readonly explain: boolean
  /** Whether the answers name segments. */
  readonly names: boolean
  readonly segment: (key: string) => SegmentInput | undefined
}

/** Answer of a flag that is not in memory, as one evaluation gives it. It is not counted as an evaluation. */
const trialAnswer = (input: FlagInput, { entity, explain, names, segment }: Trial): TrialAnswer => {
  const { entityId, context } = entity
  const flag = compileFlag(input, segment)
  const trace: Trace | undefined = explain ? [] : undefined
  const answer =
    flag.type === 'boolean'
      ? evaluateBoolean(flag, entityId, context, trace)
      : evaluateVariant(flag, entityId, context, trace)
  if ('error' in answer) return refuse('invalid_argument', answer.error)
  const { reason, segmentKeys } = answer
  return {
    ...('enabled' in answer
      ? { enabled: answer.enabled }
      : { match: answer.match, variantKey: answer.variantKey, variantAttachment: answer.variantAttachment }),
    reason: reasonNames[reason],
    segmentKeys: names ? segmentKeys : [],
    ...(trace && shownTrace(trace, flag)),
  }
}

/** Answers of a flag for one entity, at present and after the changes of a dry run (api.md §7.9). */
const draftAnswers = (present: FlagInput, changed: FlagInput, trial: Trial) => ({
  present: trialAnswer(present, trial),
  changed: trialAnswer(changed, trial),
})

type ChangeOf<O extends FlagChangeAsked['op']> = Extract<FlagChangeAsked, { readonly op: O }>
type Shares = ChangeOf<'rule.create'>['distributions']

/** Distributions with their own ids and the ids of their variants. */
const sharesOf = ({ idOf, made }: TemporaryIds, place: string, shares: Shares) =>
  shares.map(({ variantId, rollout }, n) => ({
    id: made(`${place}.distributions[${n}]`),
    variantId: idOf(variantId),
    rollout,
  }))

const meant: {
  readonly [O in FlagChangeAsked['op']]: (change: ChangeOf<O>, refs: TemporaryIds, place: string) => FlagChange
} = {
  'flag.update': ({ op: _op, defaultVariantId, ...change }, { idOf }) => ({
    op: 'UpdateFlag',
    ...change,
    defaultVariantId: defaultVariantId === undefined ? undefined : idOf(defaultVariantId),
  }),
  'variant.create': ({ op: _op, ref, ...variant }, { made }, place) => ({
    op: 'AddVariant',
    ...variant,
    id: made(place, ref),
  }),
  'variant.update': ({ op: _op, id, ...change }, { idOf }) => ({ op: 'UpdateVariant', ...change, id: idOf(id) }),
  'variant.delete': ({ id }, { idOf }) => ({ op: 'RemoveVariant', id: idOf(id) }),
  'rollout.create': ({ op: _op, ref, ...rollout }, { made }, place) => ({
    op: 'AddRollout',
    ...rollout,
    id: made(place, ref),
  }),
  'rollout.update': ({ op: _op, id, ...change }, { idOf }) => ({ op: 'UpdateRollout', ...change, id: idOf(id) }),
  'rollout.delete': ({ id }, { idOf }) => ({ op: 'RemoveRollout', id: idOf(id) }),
  'rollout.order': ({ ids }, { idOf }) => ({ op: 'OrderRollouts', ids: ids.map(idOf) }),
  'rule.create': ({ op: _op, ref, distributions, ...rule }, refs, place) => ({
    op: 'AddRule',
    ...rule,
    distributions: sharesOf(refs, place, distributions),
    id: refs.made(place, ref),
  }),
  'rule.update': ({ op: _op, id, distributions, ...change }, refs, place) => ({
    op: 'UpdateRule',
    ...change,
    distributions: distributions && sharesOf(refs, place, distributions),
    id: refs.idOf(id),
  }),
  'rule.delete': ({ id }, { idOf }) => ({ op: 'RemoveRule', id: idOf(id) }),
  'rule.order': ({ ids }, { idOf }) => ({ op: 'OrderRules', ids: ids.map(idOf) }),
}

const shown = (doc: FlagDoc, refs: TemporaryIds): ChangedFlag => ({
  flag: flagJson(doc),
  rules: doc.rules.map((rule) => ruleJson(doc, rule)),
  rollouts: doc.rollouts.map((rollout) => rolloutJson(doc, rollout)),
  refs: refs.all(),
})

const warning = ({ rules }: FlagDoc): string | undefined => partialRulesInWords(partialRules(rules))

/** Changes a flag and its parts atomically, or tries the changes without a write (api.md §7.9). */
export const flagChangesRoutes: FlagMount = (app, service) => {
  const { reservations, rehearsal, flagStore } = service
  const { respondWith, respondRehearsed } = flagWriter(service)
  namespacedRoute(app, {
    method: 'POST',
    url: '/flags/:key/changes',
    tag: 'Flags',
    right: 'flag.update',
    evaluates: 'flag.evaluate',
    summary:
      'Change a flag with its variants, rules and rollouts. The service applies all changes in the given order, or none. With `dryRun=true` it answers with the flag after the changes and writes nothing.',
    writes: 'unless-read-only',
    errors: ['not_found', 'not_unique', 'type_change', 'quota_exceeded', 'revision_moved'],
    body: flagChanges,
    query: explainedDryRunQuery,
    answer: ChangedFlag,
    run: (call) => {
      const { body, query, caller } = call
      const [key, namespace] = [call.params['key']!, namespaceOf(call)]
      const refs = temporaryIds((word) => newId(call, word))
      const changes = body.changes.map((change, n) => meant[change.op](change as never, refs, `changes[${n}]`))
      if (!query.dryRun) {
        insistOnDryRun(body)
        return respondWith(
          call,
          key,
          (of, context) => reservations.changeFlag({ ...of, changes }, context),
          (doc) => shown(doc, refs),
          warning,
        )
      }
      const entity = body.evaluate
      const [explain, names] = [query.explain, showsSegments(caller, namespace)]
      const segment = (asked: string) => flagStore.segment(namespace, asked)?.doc
      return respondRehearsed(
        call,
        key,
        (of, context) => rehearsal.reservations.changeFlag({ ...of, changes }, context),
        (present, changed, revision) => ({
          ...shown(changed, refs),
          revision,
          ...(entity && { evaluations: draftAnswers(present, changed, { entity, explain, names, segment }) }),
        }),
        warning,
      )
    },
  })
}
