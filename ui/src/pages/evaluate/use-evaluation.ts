import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { evaluate } from '../../api/evaluation.ts'
import { keys } from '../../api/keys.ts'
import { contextOf, type Form, formOf, isQuestion, rowsOf, searchOf } from './form.ts'
import { type Search, searchKept } from './search.ts'

/** Submitted form with a counter, so that submitting it again evaluates again. */
type Asked = { readonly form: Form; readonly time: number }

const signatureOf = (search: Search): string => new URLSearchParams(search).toString()

/**
 * State of the form, the last evaluation and its answer. The page evaluates on load if the address contains an
 * evaluation, else only on `ask`.
 */
export const useEvaluation = (
  namespace: string,
  search: Readonly<Record<string, unknown>> & { readonly at?: string },
) => {
  const { at } = search
  const here = searchKept(search)
  const signature = `${namespace}?${signatureOf(here)}`
  const navigate = useNavigate()
  const begin = (): Asked | undefined => (isQuestion(here) ? { form: formOf(here), time: 0 } : undefined)
  const [seen, setSeen] = useState(signature)
  const [form, setForm] = useState(() => formOf(here))
  const [asked, setAsked] = useState(begin)

  if (seen !== signature) {
    setSeen(signature)
    const own = asked && `${namespace}?${signatureOf(searchOf(asked.form))}` === signature
    if (!own) {
      setForm(formOf(here))
      setAsked(begin())
    }
  }
  const question = asked && {
    namespace,
    flag: asked.form.flag,
    entity: asked.form.entity,
    context: contextOf(rowsOf(asked.form)),
    at,
  }
  const { data, error, isFetching, refetch } = useQuery({
    queryKey: [...keys.flag(namespace, question?.flag ?? ''), 'evaluation', question, asked?.time],
    queryFn: ({ signal }) => evaluate(question!, signal),
    enabled: question !== undefined,
    placeholderData: (before) => before,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  })
  const ask = () => {
    setAsked({ form, time: (asked?.time ?? 0) + 1 })
    void navigate({ to: '.', search: { ...searchOf(form), at } as never, resetScroll: false })
  }
  return {
    form,
    change: (part: Partial<Form>) => setForm((before) => ({ ...before, ...part })),
    asked: asked?.form,
    ask,
    answer: asked && data?.question.namespace === namespace ? data : undefined,
    error,
    busy: isFetching,
    retry: () => void refetch(),
  }
}
