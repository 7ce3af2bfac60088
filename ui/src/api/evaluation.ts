import type { BooleanEvaluation, TraceStep, TrialAnswer, VariantEvaluation } from '../../../src/contract/evaluation.ts'
import type { Flag } from './flags.ts'
import { path, query, read, request } from './request.ts'

export type { TraceStep, TrialAnswer }

/** Evaluation of a flag for an entity, now or at a moment. */
export type Question = {
  readonly namespace: string
  readonly flag: string
  readonly entity: string
  readonly context: Readonly<Record<string, string>>
  readonly at: string | undefined
}
export type Answer =
  | { readonly kind: 'boolean'; readonly question: Question; readonly said: BooleanEvaluation }
  | { readonly kind: 'variant'; readonly question: Question; readonly said: VariantEvaluation }

/** Returns the path and body of the evaluation request. */
export const requestOf = (
  { namespace: namespaceKey, flag: flagKey, entity: entityId, context, at }: Question,
  kind: Answer['kind'],
): { readonly path: string; readonly body: string } => ({
  path: `evaluate/v1/${kind}${query({ explain: 'true', at })}`,
  body: JSON.stringify({ namespaceKey, flagKey, entityId, context }),
})

/** Evaluates the flag with a trace. The flag is read first, because its type decides the route. */
export const evaluate = async (question: Question, signal?: AbortSignal): Promise<Answer> => {
  const { namespace, flag, at } = question
  const { value: found } = await request<Flag>(`api/v1/namespaces/${path(namespace, 'flags', flag)}${query({ at })}`, {
    signal,
  })
  const ask = async <T>(kind: Answer['kind']): Promise<T> => {
    const { path: place, body } = requestOf(question, kind)
    return read<T>(place, { method: 'POST', body, reads: true, signal })
  }
  return found.type === 'BOOLEAN_FLAG_TYPE'
    ? { kind: 'boolean', question, said: await ask('boolean') }
    : { kind: 'variant', question, said: await ask('variant') }
}
