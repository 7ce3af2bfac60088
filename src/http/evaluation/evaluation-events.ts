import type { Attributes, Tracer } from '../../base/tracing.ts'
import type { Compiled } from '../../evaluation/compile.ts'
import type { Reason } from '../../evaluation/evaluate.ts'
import type { Evaluator } from './evaluator.ts'

/** Reasons by their names in the convention for feature flags. */
const reasons: Readonly<Record<Reason, string>> = {
  unknown: 'unknown',
  disabled: 'disabled',
  match: 'targeting_match',
  default: 'default',
}

/**
 * Adds an event to the current span for each evaluation, by the semantic conventions for feature flags. The events hold
 * neither the entity nor its context.
 */
export const tracedEvaluator = (evaluator: Evaluator, tracer: Tracer): Evaluator => {
  const note = ({ key }: Compiled, namespace: string, reason: Reason, result: Attributes): void => {
    const span = tracer.current()
    if (span === undefined || !tracer.recording(span)) return
    tracer.event(span, 'feature_flag.evaluation', {
      'feature_flag.key': key,
      'feature_flag.set.id': namespace,
      'feature_flag.provider.name': 'rollcall',
      'feature_flag.result.reason': reasons[reason],
      ...result,
    })
  }
  return {
    ...evaluator,
    boolean: (flag, namespace, asking) => {
      const said = evaluator.boolean(flag, namespace, asking)
      const { reason, enabled } = said.answer
      note(flag, namespace, reason, { 'feature_flag.result.value': enabled })
      return said
    },
    variant: (flag, namespace, asking) => {
      const said = evaluator.variant(flag, namespace, asking)
      const { reason, variantKey } = said.answer
      note(flag, namespace, reason, { 'feature_flag.result.variant': variantKey || undefined })
      return said
    },
  }
}
