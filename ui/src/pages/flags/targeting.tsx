import { booleanAnswers } from '../../../../src/contract/answers.ts'
import type { ListedFlag, Rollout } from '../../api/flags.ts'
import { Safe } from '../../parts/feedback/safe.tsx'
import { flags as words } from '../../words/flags.ts'

const SHOWN = 3

const rolloutWords = ({ threshold, segment }: Rollout): string => {
  if (threshold) return words.share(String(threshold.percentage), String(threshold.value))
  const { segmentKey = '', segmentKeys = [], value = false } = segment ?? {}
  return words.ofSegments(words.parts(segmentKey === '' ? segmentKeys : [segmentKey]), String(value))
}

const partsOf = ({ type, enabled, rollouts = [], ruleCount = 0, defaultVariant }: ListedFlag): readonly string[] => {
  if (type === 'BOOLEAN_FLAG_TYPE') {
    const { asked } = booleanAnswers(enabled, rollouts)
    const all = rollouts.map((rollout, n) =>
      n < asked ? rolloutWords(rollout) : words.notAsked(rolloutWords(rollout)),
    )
    return all.length > SHOWN ? [...all.slice(0, SHOWN), words.more(all.length - SHOWN)] : all
  }
  return [
    ...(ruleCount > 0 ? [enabled ? words.rules(ruleCount) : words.notAsked(words.rules(ruleCount))] : []),
    ...(defaultVariant ? [words.default(defaultVariant.key)] : []),
  ]
}

/** Summary of a flag's rules or rollouts in one sentence. */
export const Targeting = ({ flag }: { readonly flag: ListedFlag }) => <Safe text={words.parts(partsOf(flag))} />
