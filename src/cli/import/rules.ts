import { invalid, Refusal } from '../../base/errors.ts'
import type { EXIT } from '../../base/failure.ts'
import { newFlag } from '../../contract/flags/flag.ts'
import { newRollout, rolloutFields, rolloutPart } from '../../contract/flags/rollout.ts'
import { newRule, segmentsGiven, share } from '../../contract/flags/rule.ts'
import { constraintBody, newSegment } from '../../contract/flags/segment.ts'
import { variantBody } from '../../contract/flags/variant.ts'
import { comparisonTypes, flagTypes, matchTypes, segmentOperators } from '../../contract/readers/fields.ts'
import type { Fields } from '../../contract/readers/input.ts'
import { newNamespace } from '../../contract/resource.ts'
import { checkConstraint, operators } from '../../evaluation/operators.ts'

/** A problem that prevents the import of a document. `existing`: the item is in the service already. */
export type Problem = {
  readonly path: string
  readonly message: string
  readonly exit: keyof typeof EXIT
  readonly existing?: true
}

type Body = Readonly<Record<string, unknown>>
/** Fields of a request, each checked by itself, and the check of all together. */
type Check = { readonly fields: Fields; readonly whole?: ((body: Body) => unknown) | undefined }

/** Member of a constraint that a message of `checkConstraint` is about. */
const memberOf = (message: string): string =>
  message.startsWith('constraint operator')
    ? 'operator'
    : message.startsWith('property')
      ? 'property'
      : message.startsWith('invalid constraint type')
        ? 'type'
        : 'value'

const constraint = (body: Body): void => {
  const read = constraintBody.read(body)
  const found = checkConstraint(read)
  if (found.kind === 'field') invalid(found.field, found.description)
  if (found.kind !== 'refused') return
  const member = memberOf(found.message)
  const allowed =
    member === 'operator' && read.type !== 'unknown' ? `; allowed: ${operators[read.type].join(', ')}` : ''
  invalid(member, found.message + allowed)
}

const CHECKS = {
  namespace: newNamespace,
  flag: newFlag,
  variant: variantBody,
  segment: newSegment,
  constraint: { fields: constraintBody.fields, whole: constraint },
  rule: { fields: newRule.fields, whole: (body) => segmentsGiven(newRule.read(body)) },
  distribution: { fields: { rollout: share } },
  distributions: {
    fields: {},
    whole: ({ shares }) => {
      const total = (shares as readonly Body[]).reduce((sum, each) => sum + share.read(each['rollout'], 'rollout'), 0)
      if (total > 100.001) invalid('distributions', 'must not exceed 100 in total')
    },
  },
  rollout: {
    fields: rolloutFields,
    whole: (body) => rolloutPart(newRollout.read(body), () => invalid('', 'must have segment or threshold')),
  },
} as const satisfies Readonly<Record<string, Check>>
type Kind = keyof typeof CHECKS
/** All fields of a request; a document refers to segments only by `segmentKeys`. */
type Checked<K extends Kind> = Readonly<Record<Exclude<keyof (typeof CHECKS)[K]['fields'], 'segmentKey'>, unknown>>

/** Words that a member of a document allows. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  'flag type': flagTypes.names,
  'constraint type': comparisonTypes.names.filter((name) => name !== comparisonTypes.wire.unknown),
  'segment match_type': matchTypes.names,
  'rule segment.operator': segmentOperators.names,
  'rollout segment.operator': segmentOperators.names,
}

/** Converts the name of a field of the API to the member of the document. */
const documented = (field: string): string =>
  field
    .replace('segmentKey or segmentKeys', 'segment')
    .replace(/^(?:segment\.)?segmentOperator/, 'segment.operator')
    .replace(/^(?:segment\.)?segmentKeys?/, 'segment')
    .replace(/^segment\.segment$/, 'segment')
    .replace('matchType', 'match_type')
    .replace(/^rule$/, '')

const WRONG_TYPE = /^request body is not valid: (\S+) (.*)$/

const problemOf = (kind: Kind, at: (member: string) => string, error: unknown): Problem => {
  if (!(error instanceof Refusal)) throw error
  const [, typed = '', expected = error.message] = WRONG_TYPE.exec(error.message) ?? []
  const { field, description } = error.violation ?? { field: typed, description: expected }
  const member = documented(field)
  const allowed = WORDS[`${kind} ${member}`]
  const hint = allowed && description.startsWith('unknown value') ? `; allowed: ${allowed.join(', ')}` : ''
  return { path: at(member), message: description + hint, exit: 'failed' }
}

/**
 * Problems that the service would report for the body of a request (api.md §7.3), one for each invalid field, with the
 * names and the places of the document. The checks use the field readers of the service.
 */
export const problemsOf = <K extends Kind>(
  kind: K,
  at: (member: string) => string,
  body: Checked<K>,
): readonly Problem[] => {
  const given: Body = { ...body }
  const attempt = (check: () => unknown): readonly Problem[] => {
    try {
      check()
      return []
    } catch (error) {
      return [problemOf(kind, at, error)]
    }
  }
  const { fields, whole }: Check = { whole: undefined, ...CHECKS[kind] }
  const found = Object.entries(fields).flatMap(([name, field]) => attempt(() => field.read(given[name], name)))
  return found.length > 0 || !whole ? found : attempt(() => whole(given))
}
