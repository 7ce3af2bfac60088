import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect } from 'react'
import { isFailure } from '../../api/failure.ts'
import { keys } from '../../api/keys.ts'
import { readNamespace } from '../../api/namespaces.ts'
import { lastNamespace, rememberNamespace } from '../../preferences.ts'
import { useMissing } from '../../why-not.ts'
import { states } from '../../words/common.ts'
import { shell } from '../../words/shell.ts'
import { PageHead } from '../page.tsx'

/**
 * Whether the namespace of an empty list exists at the moment of the list; undefined while it is read. A namespace that
 * cannot be read counts as existing.
 */
export const useNamespaceExists = (ns: string | undefined, at: string | undefined, empty: boolean) => {
  const why = useMissing()({ right: 'namespace.read', ...(ns !== undefined && { namespaceKey: ns }) })
  const enabled = empty && ns !== undefined && why === undefined
  const { error, isPending } = useQuery({
    queryKey: [...keys.namespaces, 'of a list', ns, at],
    queryFn: ({ signal }) => readNamespace(ns ?? '', signal, at),
    enabled,
  })
  if (!enabled) return true
  return isPending ? undefined : !(isFailure(error) && error.status === 404)
}

/** Page of a list whose namespace does not exist. */
export const NoNamespace = ({ ns, at }: { readonly ns: string; readonly at: string | undefined }) => {
  useEffect(() => {
    if (lastNamespace() === ns && at === undefined) rememberNamespace('default')
  }, [ns, at])
  return (
    <>
      <PageHead heading={states.notFound(shell.namespace)} title={[states.notFound(shell.namespace), ns]} />
      <p>{states.noNamespace(ns, at !== undefined)}</p>
      <p>
        <Link to="/settings/namespaces">{states.goToNamespaces}</Link>
      </p>
    </>
  )
}
