{{/*
Copyright The controllerkit Authors.
SPDX-License-Identifier: Apache-2.0

Rules of these templates. No `default` where 0 or false is a value: it takes them for unset. No `merge` of what users set: its left side
wins, unless it is false. Numbers go through int64: from YAML they are floats, and 2592000 would be printed as 2.592e+06.
*/}}

{{- define "agentrun.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 50 | trimSuffix "-" }}
{{- end }}

{{/* 50: the longest suffix is 12 long, and names of Services end at 63. */}}
{{- define "agentrun.fullname" -}}
{{- $name := include "agentrun.name" . }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{/* The label job of what is scraped: the ServiceMonitor sets it, and the alerts select by it, in the namespace of the release. */}}
{{- define "agentrun.job" -}}
{{- include "agentrun.fullname" . }}
{{- end }}

{{/* The values, the name and the service account of a component: control-plane or controllers. Call with (dict "root" $ "component" name). */}}
{{- define "agentrun.key" -}}
{{- ternary "controllers" "controlPlane" (eq .component "controllers") }}
{{- end }}

{{/* The components that are rendered, as a JSON list. */}}
{{- define "agentrun.components" -}}
{{- ternary (list "control-plane" "controllers") (list "controllers") .Values.controlPlane.enabled | toJson }}
{{- end }}

{{- define "agentrun.componentName" -}}
{{- $full := include "agentrun.fullname" .root }}
{{- ternary (printf "%s-controllers" $full) $full (eq .component "controllers") }}
{{- end }}

{{- define "agentrun.serviceAccountName" -}}
{{- $account := (index .root.Values (include "agentrun.key" .)).serviceAccount }}
{{- if $account.name }}
{{- $account.name }}
{{- else if $account.create }}
{{- include "agentrun.componentName" . }}
{{- else }}
{{- "default" }}
{{- end }}
{{- end }}

{{/* What Services, the Deployment and the Rollout select by. It never changes, whichever of the two kinds is rendered. */}}
{{- define "agentrun.selectorLabels" -}}
app.kubernetes.io/name: {{ include "agentrun.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "agentrun.labels" -}}
{{ include "agentrun.selectorLabels" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "agentrun.image" -}}
{{- $image := .Values.image }}
{{- if $image.digest }}
{{- printf "%s@%s" $image.repository $image.digest }}
{{- else }}
{{- printf "%s:%s" $image.repository ($image.tag | default .Chart.AppVersion) }}
{{- end }}
{{- end }}

{{/* progressiveDelivery of a component as JSON: the global keys, under the keys that the component has, false included. No steps are the safe ones. */}}
{{- define "agentrun.progressiveDelivery" -}}
{{- $merged := deepCopy .root.Values.progressiveDelivery }}
{{- range $k, $v := (index .root.Values (include "agentrun.key" .)).progressiveDelivery }}
{{- $_ := set $merged $k $v }}
{{- end }}
{{- if not $merged.canarySteps }}
{{- $_ := set $merged "canarySteps" (list (dict "setWeight" 20) (dict "pause" dict)) }}
{{- end }}
{{- toJson $merged }}
{{- end }}

{{/* The one place that decides between Deployment and Rollout: "true" or nothing. */}}
{{- define "agentrun.isRollout" -}}
{{- if (include "agentrun.progressiveDelivery" . | fromJson).enabled }}true{{ end }}
{{- end }}

{{- define "agentrun.apiVersion" -}}
{{- ternary "argoproj.io/v1alpha1" "apps/v1" (eq (include "agentrun.isRollout" .) "true") }}
{{- end }}

{{- define "agentrun.kind" -}}
{{- ternary "Rollout" "Deployment" (eq (include "agentrun.isRollout" .) "true") }}
{{- end }}

{{/* The workload of a component as people and kubectl name it. */}}
{{- define "agentrun.workloadName" -}}
{{- printf "%s/%s" (include "agentrun.kind" . | lower) (include "agentrun.componentName" .) }}
{{- end }}

{{/*
Refuses to render what the cluster does not serve. Call with (dict "root" $ "api" "group/version/Kind" "check" "auto|fail|skip" "value" "what
asks for it"). The API is looked for with its kind: Argo CD and Argo Workflows serve argoproj.io/v1alpha1 too. Kinds are known only
where the list comes from a cluster (or from --api-versions): what Helm assumes without one has versions of groups and no kinds.
*/}}
{{- define "agentrun.requireAPI" -}}
{{- $has := .root.Capabilities.APIVersions }}
{{- $known := $has.Has "apps/v1/Deployment" }}
{{- if and (ne .check "skip") (not ($has.Has .api)) (or $known (eq .check "fail")) }}
{{- fail (printf "%s needs %s, which %s: install it first, or set %s to false%s" .value .api (ternary "the cluster does not serve" "helm cannot look for without a cluster" $known) .value (ternary (printf "; without a cluster, pass --api-versions %s or set crdCheck to auto" .api) "" (not $known))) }}
{{- end }}
{{- end }}

{{/* Seconds that a Job stays: jobTtlSecondsAfterFinished, or its alias jobTTLSeconds, else 600. 0 keeps it. */}}
{{- define "agentrun.jobTTL" -}}
{{- $c := .Values.controller }}
{{- $ttl := $c.jobTtlSecondsAfterFinished }}
{{- $alias := $c.jobTTLSeconds }}
{{- if and (not (kindIs "invalid" $ttl)) (not (kindIs "invalid" $alias)) }}
{{- if ne (int64 $ttl) (int64 $alias) }}
{{- fail (printf "controller.jobTtlSecondsAfterFinished is %d and its alias controller.jobTTLSeconds is %d: set one of them" (int64 $ttl) (int64 $alias)) }}
{{- end }}
{{- end }}
{{- if not (kindIs "invalid" $ttl) }}
{{- int64 $ttl }}
{{- else if not (kindIs "invalid" $alias) }}
{{- int64 $alias }}
{{- else }}
{{- 600 }}
{{- end }}
{{- end }}

{{/* The environment of a component as a JSON object: what the chart sets, under env.vars, under the component's own env.vars. */}}
{{- define "agentrun.env" -}}
{{- $c := .root.Values.controller }}
{{- $vars := dict }}
{{- if eq .component "controllers" }}
{{- $_ := set $vars "JANGAR_AGENT_RUNNER_JOB_TTL_SECONDS" (include "agentrun.jobTTL" .root) }}
{{- $_ := set $vars "JANGAR_AGENTS_CONTROLLER_AGENTRUN_RETENTION_SECONDS" (toString (int64 $c.agentRunRetentionSeconds)) }}
{{- $_ := set $vars "JANGAR_AGENT_RUNNER_LOG_RETENTION_SECONDS" (toString (int64 $c.logRetentionSeconds)) }}
{{- $_ := set $vars "JANGAR_CONTROLLER_EVENTS_ENABLED" (toString $c.events.enabled) }}
{{- $_ := set $vars "JANGAR_CONTROLLER_EVENTS_RATE_LIMIT_PER_MIN" (toString (int64 $c.events.rateLimitPerMinute)) }}
{{- end }}
{{- range $k, $v := .root.Values.env.vars }}
{{- $_ := set $vars $k $v }}
{{- end }}
{{- range $k, $v := (index .root.Values (include "agentrun.key" .)).env.vars }}
{{- $_ := set $vars $k $v }}
{{- end }}
{{- toJson $vars }}
{{- end }}

{{- /* The namespaces where runs are reconciled, as JSON; none of them means all. */}}
{{- define "agentrun.namespaces" -}}
{{- $c := .Values.controller }}
{{- if and $c.allNamespaces $c.namespaces }}
{{- fail (printf "controller.allNamespaces is true and controller.namespaces is %s: set one of them" (join ", " $c.namespaces)) }}
{{- end }}
{{- if $c.allNamespaces }}[]{{ else }}{{ $c.namespaces | default (list .Release.Namespace) | toJson }}{{ end }}
{{- end }}
