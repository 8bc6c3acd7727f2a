{{/*
Copyright The controllerkit Authors.
SPDX-License-Identifier: Apache-2.0

A component as a Deployment or as a Rollout: one template, so that nothing but kind and strategy can differ. Call with
(dict "root" $ "component" name).
*/}}
{{- define "agentrun.workload" -}}
{{- $root := .root }}
{{- $v := index $root.Values (include "agentrun.key" .) }}
{{- $pd := include "agentrun.progressiveDelivery" . | fromJson }}
{{- $rollout := include "agentrun.isRollout" . }}
{{- $pod := include "agentrun.pod" . | fromYaml }}
{{- include "agentrun.checkWorkload" (dict "root" $root "component" .component "pod" $pod) }}
apiVersion: {{ include "agentrun.apiVersion" . }}
kind: {{ include "agentrun.kind" . }}
metadata:
  name: {{ include "agentrun.componentName" . }}
  namespace: {{ $root.Release.Namespace | quote }}
  labels:
    {{- include "agentrun.labels" . | nindent 4 }}
  {{- $annotations := deepCopy ($v.annotations | default dict) }}
  {{- if $pd.keepOnSwitch }}
  {{- $_ := set $annotations "helm.sh/resource-policy" "keep" }}
  {{- $sync := "argocd.argoproj.io/sync-options" }}
  {{- $_ := set $annotations $sync (list (get $annotations $sync) "PruneLast=true" | compact | join ",") }}
  {{- end }}
  {{- with $annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- if not $v.autoscaling.enabled }}
  replicas: {{ int64 $v.replicaCount }}
  {{- end }}
  selector:
    matchLabels:
      {{- include "agentrun.selectorLabels" . | nindent 6 }}
  strategy:
    {{- if $rollout }}
    canary:
      maxSurge: {{ include "agentrun.fence" $v.strategy.maxSurge }}
      maxUnavailable: {{ include "agentrun.fence" $v.strategy.maxUnavailable }}
      steps:
        {{- toYaml $pd.canarySteps | nindent 8 }}
    {{- else }}
    type: RollingUpdate
    rollingUpdate:
      maxSurge: {{ include "agentrun.fence" $v.strategy.maxSurge }}
      maxUnavailable: {{ include "agentrun.fence" $v.strategy.maxUnavailable }}
    {{- end }}
  template:
    metadata:
      labels:
        {{- range $k, $label := $v.podLabels }}
        {{ $k }}: {{ $label | quote }}
        {{- end }}
        {{- include "agentrun.selectorLabels" . | nindent 8 }}
      {{- with $v.podAnnotations }}
      annotations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      {{- toYaml $pod | nindent 6 }}
{{- end }}

{{/* The pod: the chart's, under the fields that the values have. The lists of both are one list. */}}
{{- define "agentrun.pod" -}}
{{- $v := index .root.Values (include "agentrun.key" .) }}
{{- $container := include "agentrun.container" . | fromYaml }}
{{- range $key, $value := $v.container }}
{{- if has $key (list "args" "env" "volumeMounts") }}
{{- $value = concat (get $container $key | default list) $value }}
{{- end }}
{{- $_ := set $container $key $value }}
{{- end }}
{{- $tls := .root.Values.metrics.tls.secretName }}
{{- $pod := dict "containers" (list $container) "volumes" list }}
{{- if $tls }}
{{- $_ := set $pod "volumes" (list (dict "name" "metrics-tls" "secret" (dict "secretName" $tls))) }}
{{- end }}
{{- $_ := set $pod "serviceAccountName" (include "agentrun.serviceAccountName" .) }}
{{- $_ := set $pod "automountServiceAccountToken" (eq .component "controllers") }}
{{- $_ := set $pod "terminationGracePeriodSeconds" 30 }}
{{- $_ := set $pod "securityContext" (dict "runAsNonRoot" true "runAsUser" 65532 "runAsGroup" 65532 "seccompProfile" (dict "type" "RuntimeDefault")) }}
{{- range $key, $value := $v.pod }}
{{- if has $key (list "containers" "volumes") }}
{{- $value = concat (get $pod $key) $value }}
{{- end }}
{{- $_ := set $pod $key $value }}
{{- end }}
{{- if not $pod.volumes }}
{{- $_ := unset $pod "volumes" }}
{{- end }}
{{- toYaml $pod }}
{{- end }}

{{- define "agentrun.container" -}}
{{- $tls := .root.Values.metrics.tls.secretName }}
{{- $vars := include "agentrun.env" . | fromJson }}
{{- $own := (index .root.Values (include "agentrun.key" .)).container | default dict }}
{{- $set := list }}
{{- range $own.env }}
{{- $set = append $set .name }}
{{- end }}
name: agentrun
image: {{ include "agentrun.image" .root | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
args:
  - --metrics-bind-address=:8080
  {{- if $tls }}
  - --metrics-cert-dir=/etc/agentrun/tls
  {{- end }}
  {{- if eq .component "controllers" }}
  {{- with include "agentrun.namespaces" .root | fromJsonArray }}
  - --namespaces={{ join "," . }}
  {{- end }}
  - --leader-elect={{ .root.Values.controllers.leaderElection.enabled }}
  - --leader-elect-lease-name={{ include "agentrun.componentName" . }}
  - --leader-elect-lease-namespace={{ .root.Release.Namespace }}
  {{- else }}
  - --reconcile=false
  {{- end }}
env: # without those that the container has itself
  {{- if not (has "POD_NAME" $set) }}
  - name: POD_NAME
    valueFrom:
      fieldRef:
        apiVersion: v1
        fieldPath: metadata.name
  {{- end }}
  {{- if and (not (has "GOMEMLIMIT" $set)) (dig "resources" "limits" "memory" "" $own) (not (hasKey $vars "GOMEMLIMIT")) }}
  - name: GOMEMLIMIT
    valueFrom:
      resourceFieldRef:
        resource: limits.memory
        divisor: "1"
  {{- end }}
  {{- range $name, $value := $vars }}
  {{- if not (has $name $set) }}
  - name: {{ $name | quote }}
    value: {{ $value | quote }}
  {{- end }}
  {{- end }}
ports:
  - name: http
    containerPort: 8080
    protocol: TCP
livenessProbe:
  httpGet: {path: /healthz, port: http{{ if $tls }}, scheme: HTTPS{{ end }}}
readinessProbe:
  httpGet: {path: /readyz, port: http{{ if $tls }}, scheme: HTTPS{{ end }}}
  periodSeconds: 5
{{- if $tls }}
volumeMounts:
  - name: metrics-tls
    mountPath: /etc/agentrun/tls
    readOnly: true
{{- end }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}

{{/* A number stays one, a percentage becomes a string. */}}
{{- define "agentrun.fence" -}}
{{- if kindIs "string" . }}{{ . | quote }}{{ else }}{{ int64 . }}{{ end }}
{{- end }}

{{/* What the schema cannot say, since it concerns several values. Call with (dict "root" $ "component" name "pod" pod). */}}
{{- define "agentrun.checkWorkload" -}}
{{- $key := include "agentrun.key" . }}
{{- $v := index .root.Values $key }}
{{- $pd := include "agentrun.progressiveDelivery" . | fromJson }}
{{- $rollout := include "agentrun.isRollout" . }}
{{- range $container := concat .pod.containers (.pod.initContainers | default list) }}
{{- $seen := list }}
{{- range $env := $container.env }}
{{- if has $env.name $seen }}
{{- fail (printf "%s: container %s has the variable %s twice: a Rollout takes each once; set it in env.vars or in container.env" $key $container.name $env.name) }}
{{- end }}
{{- if and $env.value $env.valueFrom }}
{{- fail (printf "%s: container %s has a value and a valueFrom for the variable %s: remove one" $key $container.name $env.name) }}
{{- end }}
{{- $seen = append $seen $env.name }}
{{- end }}
{{- $ports := list }}
{{- range $port := $container.ports }}
{{- $number := printf "%v/%s" $port.containerPort ($port.protocol | default "TCP") }}
{{- if has $number $ports }}
{{- fail (printf "%s: container %s has the port %s twice: a Rollout takes each once" $key $container.name $number) }}
{{- end }}
{{- $ports = append $ports $number }}
{{- end }}
{{- end }}
{{- if $rollout }}
{{- include "agentrun.requireAPI" (dict "root" .root "api" "argoproj.io/v1alpha1/Rollout" "check" $pd.crdCheck "value" (printf "%s.progressiveDelivery.enabled" $key)) }}
{{- if has (toString $v.strategy.maxSurge) (list "0" "0%") }}
{{- fail (printf "%s.strategy.maxSurge is %v: a canary needs a pod more, or there are counts of pods at which no new or no old one would run; want at least 1" $key $v.strategy.maxSurge) }}
{{- end }}
{{- end }}
{{- if and (eq .component "controllers") (not $v.leaderElection.enabled) (or $rollout $v.autoscaling.enabled (gt (int64 $v.replicaCount) 1)) }}
{{- fail "controllers.leaderElection.enabled is false: then one pod alone may reconcile; set it to true, or replicaCount to 1 with autoscaling and progressiveDelivery off" }}
{{- end }}
{{- end }}
