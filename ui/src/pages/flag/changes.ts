import type { Op } from '../../api/flags.ts'
import { flag } from '../../words/flag.ts'
import type { Change } from '../../parts/change-lines.tsx'
import { same } from '../../parts/editing.ts'
import type { Draft, RolloutDraft } from './draft.ts'
import { metadataOf } from './metadata.ts'

const words = flag.change

/** What a rollout gives to whom. */
export const sentenceOf = ({ kind, percentage, segments, match, value }: RolloutDraft): string =>
  kind === 'threshold' ? flag.share(percentage, value) : flag.segments(segments, match === 'all', value)

const inFull = (rollout: RolloutDraft): string => words.described(sentenceOf(rollout), rollout.description)
const byId = (rollouts: readonly RolloutDraft[]) => new Map(rollouts.map((rollout) => [rollout.id, rollout]))
const idsOf = (rollouts: readonly RolloutDraft[]) => rollouts.map(({ id }) => id)

/** The order in which the service has them once parts are deleted and made, before it is told another one. */
const orderLeft = (base: Draft, draft: Draft): readonly string[] => {
  const [before, after] = [byId(base.rollouts), byId(draft.rollouts)]
  const left = idsOf(base.rollouts).filter((id) => after.has(id))
  return [...left, ...idsOf(draft.rollouts).filter((id) => !before.has(id))]
}

const rolloutChanges = (base: Draft, draft: Draft): readonly Change[] => {
  const [before, after] = [byId(base.rollouts), byId(draft.rollouts)]
  const changes: Change[] = []
  for (const [n, was] of base.rollouts.entries()) {
    const is = after.get(was.id)
    if (!is) changes.push({ title: words.removed(n + 1), before: inFull(was) })
    else if (!same(was, is)) changes.push({ title: words.changed(n + 1), before: inFull(was), after: inFull(is) })
  }
  for (const is of draft.rollouts) if (!before.has(is.id)) changes.push({ title: words.added, after: inFull(is) })
  if (!same(orderLeft(base, draft), idsOf(draft.rollouts)))
    changes.push({
      title: words.order,
      before: words.sequence(base.rollouts.map(sentenceOf)),
      after: words.sequence(draft.rollouts.map(sentenceOf)),
    })
  return changes
}

/** What a draft changes, each as a line. */
export const changesOf = (base: Draft, draft: Draft): readonly Change[] => {
  const own: Change[] = []
  const told = (title: string, before: string, after: string) => own.push({ title, before, after })
  if (base.name !== draft.name) told(words.name, base.name, draft.name)
  if (base.description !== draft.description) told(words.description, base.description, draft.description)
  if (base.enabled !== draft.enabled) {
    const said = (on: boolean) => (draft.boolean ? String(on) : on ? words.on : words.off)
    told(draft.boolean ? words.answer : words.state, said(base.enabled), said(draft.enabled))
  }
  if (!same(base.metadata, draft.metadata))
    told(words.metadata, JSON.stringify(metadataOf(base.metadata)), JSON.stringify(metadataOf(draft.metadata)))
  return [...own, ...rolloutChanges(base, draft)]
}

const fieldsOf = ({ kind, percentage, segments, match, value, description }: RolloutDraft) => ({
  description,
  ...(kind === 'threshold'
    ? { threshold: { percentage: Number(percentage), value } }
    : {
        segment: {
          segmentKeys: segments,
          segmentOperator: match === 'all' ? 'AND_SEGMENT_OPERATOR' : 'OR_SEGMENT_OPERATOR',
          value,
        },
      }),
})

/** What is sent, and beside each the part that it is about: the id of a rollout, or `flag`. */
export type Sent = { readonly ops: readonly Op[]; readonly about: readonly string[] }

/** The changes that make the flag what the draft is, in the order in which the service applies them. */
export const sentOf = (base: Draft, draft: Draft): Sent => {
  const [before, after] = [byId(base.rollouts), byId(draft.rollouts)]
  const sent: [string, Op][] = []
  const own = {
    ...(base.name !== draft.name && { name: draft.name.trim() }),
    ...(base.description !== draft.description && { description: draft.description }),
    ...(base.enabled !== draft.enabled && { enabled: draft.enabled }),
    ...(!same(base.metadata, draft.metadata) && { metadata: metadataOf(draft.metadata) }),
  }
  if (Object.keys(own).length > 0) sent.push(['flag', { op: 'flag.update', ...own }])
  for (const { id } of base.rollouts) if (!after.has(id)) sent.push([id, { op: 'rollout.delete', id }])
  for (const is of draft.rollouts) {
    const was = before.get(is.id)
    if (!was) sent.push([is.id, { op: 'rollout.create', ref: is.id, ...fieldsOf(is) }])
    else if (!same(was, is)) sent.push([is.id, { op: 'rollout.update', id: is.id, ...fieldsOf(is) }])
  }
  const ids = idsOf(draft.rollouts)
  if (!same(orderLeft(base, draft), ids)) sent.push(['flag', { op: 'rollout.order', ids }])
  return { ops: sent.map(([, op]) => op), about: sent.map(([about]) => about) }
}
