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
{{- $vars := include "agentrun.env" . | fromJson }}
{{- $own := list }}
{{- range $v.extraEnv }}
{{- $own = append $own .name }}
{{- end }}
{{- $tls := $root.Values.metrics.tls.secretName }}
{{- include "agentrun.checkWorkload" . }}
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
  minReadySeconds: {{ int64 $v.minReadySeconds }}
  progressDeadlineSeconds: {{ int64 $v.progressDeadlineSeconds }}
  revisionHistoryLimit: {{ int64 $v.revisionHistoryLimit }}
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
      {{- $annotations := deepCopy ($v.podAnnotations | default dict) }}
      {{- if and $root.Values.metrics.enabled $root.Values.metrics.scrapeAnnotations }}
      {{- $_ := set $annotations "prometheus.io/scrape" "true" }}
      {{- $_ := set $annotations "prometheus.io/port" "8080" }}
      {{- $_ := set $annotations "prometheus.io/path" $root.Values.metrics.path }}
      {{- if $tls }}
      {{- $_ := set $annotations "prometheus.io/scheme" "https" }}
      {{- end }}
      {{- end }}
      {{- with $annotations }}
      annotations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      serviceAccountName: {{ include "agentrun.serviceAccountName" . | quote }}
      automountServiceAccountToken: {{ eq .component "controllers" }}
      terminationGracePeriodSeconds: {{ int64 $root.Values.terminationGracePeriodSeconds }}
      {{- with $v.podSecurityContext }}
      securityContext:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $root.Values.imagePullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $v.priorityClassName }}
      priorityClassName: {{ . | quote }}
      {{- end }}
      {{- with $v.initContainers }}
      initContainers:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        - name: agentrun
          image: {{ include "agentrun.image" . | quote }}
          imagePullPolicy: {{ $v.image.pullPolicy | default $root.Values.image.pullPolicy }}
          args:
            {{- include "agentrun.args" . | nindent 12 }}
            {{- range $v.extraArgs }}
            - {{ . | quote }}
            {{- end }}
          {{- with $v.envFrom }}
          envFrom:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          env:
            {{- if not (or (hasKey $vars "POD_NAME") (has "POD_NAME" $own)) }}
            - name: POD_NAME
              valueFrom:
                fieldRef:
                  apiVersion: v1
                  fieldPath: metadata.name
            {{- end }}
            {{- if and (dig "limits" "memory" "" ($v.resources | default dict)) (not (or (hasKey $vars "GOMEMLIMIT") (has "GOMEMLIMIT" $own))) }}
            - name: GOMEMLIMIT
              valueFrom:
                resourceFieldRef:
                  resource: limits.memory
                  divisor: "1"
            {{- end }}
            {{- range $name, $value := $vars }}
            - name: {{ $name }}
              value: {{ $value | quote }}
            {{- end }}
            {{- with $v.extraEnv }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          ports:
            - name: http
              containerPort: 8080
              protocol: TCP
          livenessProbe:
            {{- include "agentrun.probe" (dict "root" $root "probe" $v.livenessProbe "path" "/healthz") | nindent 12 }}
          readinessProbe:
            {{- include "agentrun.probe" (dict "root" $root "probe" $v.readinessProbe "path" "/readyz") | nindent 12 }}
          {{- if $v.startupProbe }}
          startupProbe:
            {{- include "agentrun.probe" (dict "root" $root "probe" $v.startupProbe "path" "/healthz") | nindent 12 }}
          {{- end }}
          {{- with $v.lifecycle }}
          lifecycle:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          {{- if or $tls $v.extraVolumeMounts }}
          volumeMounts:
            {{- if $tls }}
            - name: metrics-tls
              mountPath: {{ include "agentrun.tlsDir" . }}
              readOnly: true
            {{- end }}
            {{- with $v.extraVolumeMounts }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          {{- end }}
          resources:
            {{- toYaml ($v.resources | default dict) | nindent 12 }}
          {{- with $v.securityContext }}
          securityContext:
            {{- toYaml . | nindent 12 }}
          {{- end }}
        {{- with $v.extraContainers }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- if or $tls $v.extraVolumes }}
      volumes:
        {{- if $tls }}
        - name: metrics-tls
          secret:
            secretName: {{ $tls | quote }}
        {{- end }}
        {{- with $v.extraVolumes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- end }}
      {{- with $v.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $v.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $v.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $v.topologySpreadConstraints }}
      topologySpreadConstraints:
        {{- range $constraint := . }}
        {{- $constraint = deepCopy $constraint }}
        {{- if not $constraint.labelSelector }}
        {{- $_ := set $constraint "labelSelector" (dict "matchLabels" (include "agentrun.selectorLabels" $ | fromYaml)) }}
        {{- end }}
        - {{- toYaml $constraint | nindent 10 }}
        {{- end }}
      {{- end }}
{{- end }}

{{/* A probe of the workload's own endpoint, unless it has another handler. Call with (dict "root" $ "probe" map "path" path). */}}
{{- define "agentrun.probe" -}}
{{- $probe := deepCopy (.probe | default dict) }}
{{- if not (or $probe.httpGet $probe.exec $probe.tcpSocket $probe.grpc) }}
{{- $get := dict "path" .path "port" "http" }}
{{- if .root.Values.metrics.tls.secretName }}
{{- $_ := set $get "scheme" "HTTPS" }}
{{- end }}
{{- $_ := set $probe "httpGet" $get }}
{{- end }}
{{- toYaml $probe }}
{{- end }}

{{- define "agentrun.args" -}}
{{- $election := .root.Values.controllers.leaderElection }}
- --metrics-bind-address=:8080
{{- if .root.Values.metrics.tls.secretName }}
- --metrics-cert-dir={{ include "agentrun.tlsDir" . }}
{{- end }}
{{- if eq .component "controllers" }}
{{- with include "agentrun.namespaces" .root | fromJsonArray }}
- --namespaces={{ join "," . }}
{{- end }}
- --leader-elect={{ $election.enabled }}
{{- if $election.enabled }}
- --leader-elect-lease-name={{ include "agentrun.componentName" . }}
{{- end }}
{{- else }}
- --reconcile=false
{{- end }}
{{- end }}

{{- define "agentrun.tlsDir" -}}
/etc/agentrun/tls
{{- end }}

{{/* A number stays one, a percentage becomes a string. */}}
{{- define "agentrun.fence" -}}
{{- if kindIs "string" . }}{{ . | quote }}{{ else }}{{ int64 . }}{{ end }}
{{- end }}

{{/* What the schema cannot say, since it concerns several values. */}}
{{- define "agentrun.checkWorkload" -}}
{{- $key := include "agentrun.key" . }}
{{- $v := index .root.Values $key }}
{{- $pd := include "agentrun.progressiveDelivery" . | fromJson }}
{{- $rollout := include "agentrun.isRollout" . }}
{{- if $rollout }}
{{- include "agentrun.requireAPI" (dict "root" .root "api" "argoproj.io/v1alpha1/Rollout" "check" $pd.crdCheck "value" (printf "%s.progressiveDelivery.enabled" $key)) }}
{{- if has (toString $v.strategy.maxSurge) (list "0" "0%") }}
{{- fail (printf "%s.strategy.maxSurge is %v: a canary needs a pod more, or there are counts of pods at which no new or no old one would run; want at least 1" $key $v.strategy.maxSurge) }}
{{- end }}
{{- if contains "\"pod-template-hash\"" (toJson (list $v.topologySpreadConstraints $v.affinity)) }}
{{- fail (printf "%s.topologySpreadConstraints or affinity has the label key pod-template-hash: the pods of a Rollout have rollouts-pod-template-hash instead; take that key, or leave it out" $key) }}
{{- end }}
{{- if and (not $v.autoscaling.enabled) (eq (int64 $v.replicaCount) 0) }}
{{- fail (printf "%s.replicaCount is 0: a canary of no pods tests nothing; want at least 1, or %s.progressiveDelivery.enabled false" $key $key) }}
{{- end }}
{{- end }}
{{- $variables := keys (include "agentrun.env" . | fromJson) }}
{{- range $i, $variable := $v.extraEnv }}
{{- if has $variable.name $variables }}
{{- fail (printf "%s.extraEnv[%d].name is %s, which env.vars, an extraEnv before it or the chart has too: a Rollout takes each variable once; set it in one place" $key $i $variable.name) }}
{{- end }}
{{- $variables = append $variables $variable.name }}
{{- end }}
{{- range $i, $step := $pd.canarySteps }}
{{- if and (eq (int64 $step.setWeight) 100) (lt (add1 $i) (len $pd.canarySteps)) }}
{{- fail (printf "%s.progressiveDelivery.canarySteps[%d].setWeight is 100, which replaces every pod before the next step: want 1 to 99, or 100 as the last step" $key $i) }}
{{- end }}
{{- end }}
{{- $budget := $v.podDisruptionBudget }}
{{- if not (or (kindIs "invalid" $budget.minAvailable) (kindIs "invalid" $budget.maxUnavailable)) }}
{{- fail (printf "%s.podDisruptionBudget has minAvailable %v and maxUnavailable %v: Kubernetes takes one of them; set the other to null" $key $budget.minAvailable $budget.maxUnavailable) }}
{{- end }}
{{- if ge (int64 $v.minReadySeconds) (int64 $v.progressDeadlineSeconds) }}
{{- fail (printf "%s.progressDeadlineSeconds is %d, which must be more than minReadySeconds, %d" $key (int64 $v.progressDeadlineSeconds) (int64 $v.minReadySeconds)) }}
{{- end }}
{{- if and $v.autoscaling.enabled (gt (int64 $v.autoscaling.minReplicas) (int64 $v.autoscaling.maxReplicas)) }}
{{- fail (printf "%s.autoscaling.minReplicas is %d, which must not be more than maxReplicas, %d" $key (int64 $v.autoscaling.minReplicas) (int64 $v.autoscaling.maxReplicas)) }}
{{- end }}
{{- if and (eq .component "controllers") (not $v.leaderElection.enabled) }}
{{- if or $rollout $v.autoscaling.enabled (gt (int64 $v.replicaCount) 1) }}
{{- fail "controllers.leaderElection.enabled is false: then one pod alone may reconcile; set it to true, or replicaCount to 1 with autoscaling and progressiveDelivery off" }}
{{- end }}
{{- end }}
{{- end }}
