import { Link, useSearch } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { lastNamespace } from '../../preferences.ts'
import { states } from '../../words/common.ts'
import { useNamespaceExists } from '../lists/no-namespace.tsx'
import { PageHead } from '../page.tsx'
import { Safe } from './safe.tsx'

/** Page for a resource that does not exist at the moment that the page shows. */
export const NotThere = ({
  thing,
  heading,
  name,
  namespace,
  children,
}: {
  readonly thing: string
  /** Name of the resource type at the start of a heading. */
  readonly heading: string
  readonly name: string
  readonly namespace?: string
  readonly children?: ReactNode
}) => {
  const { at } = useSearch({ strict: false }) as { readonly at?: string }
  const isMissing = useNamespaceExists(namespace, at, true) === false
  return (
    <>
      <PageHead
        heading={states.notFound(heading)}
        title={[states.notFound(heading), ...(namespace === undefined ? [] : [namespace])]}
      />
      <p>
        <Safe text={states.notThere(thing, name, namespace)} />
      </p>
      {isMissing && <p>{states.noNamespace(namespace ?? '', at !== undefined)}</p>}
      {children}
      <p>
        {isMissing ? (
          <Link to="/settings/namespaces">{states.goToNamespaces}</Link>
        ) : (
          <Link to="/ns/$ns/flags" params={{ ns: namespace ?? lastNamespace() }}>
            {states.goToFlags}
          </Link>
        )}
      </p>
    </>
  )
}
